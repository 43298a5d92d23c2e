/**
 * Several processes over one Postgres, any of which may die. A session has one writer at a time, wherever that runs. What a dead
 * process left is taken up by whichever process finds it first, and the others are told that the session is busy. The same goes
 * for runs that waited for people and have been answered.
 *
 * `npm run build`, set DATABASE_URL and OPENAI_API_KEY or OPENAI_BASE_URL, then in as many shells as you like
 * `node examples/workers.ts ask 1 "Tell me a long story"`, with `kill -9` for one of them, and `node examples/workers.ts recover`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { Agent, Fiberloop, ModelOpenAi } from "fiberloop"
import * as SessionStorePg from "fiberloop/layers/SessionStorePg"

export class Worker extends Agent.Service<Worker>()("workers/Worker", { instructions: "Be brief." }) {}

/**
 * Takes up what was left, up to eight runs at once, and drives each to its end. A server uses a layer instead, which looks again
 * and again: `Agent.recovering(Worker, { answered: true })`.
 */
export const recover = Effect.gen(function*() {
  const { refused, runs } = yield* (yield* Worker).recover({ answered: true, limit: 8 })
  for (const { error, sessionId } of refused) yield* Console.error(`${sessionId}: ${error.message}`)
  yield* Effect.forEach(
    runs,
    ({ result, sessionId }) =>
      Effect.matchEffect(result, {
        onSuccess: ({ explain }) => Console.log(`${sessionId}: ${explain}`),
        onFailure: ({ message }) => Console.error(`${sessionId}: ${message}`)
      }),
    { concurrency: "unbounded" }
  )
})

export const ask = Effect.fnUntraced(function*(id: string, input: string) {
  yield* Console.log((yield* (yield* Worker).run({ sessionId: `worker-${id}`, input })).text)
})

if (process.argv[1] === import.meta.filename) {
  const [what, id = "1", input = "Hello!"] = process.argv.slice(2)
  const Live = Worker.layer.pipe(
    Layer.provide([Fiberloop.layer, ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })]),
    Layer.provide(SessionStorePg.layer({ url: process.env.DATABASE_URL ?? "postgres://localhost/postgres" }))
  )
  NodeRuntime.runMain(Effect.provide(what === "recover" ? recover : ask(id, input), Live))
}
