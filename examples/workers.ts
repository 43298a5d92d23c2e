/**
 * Several processes over one Postgres, any of which may die. A session has one writer at a time, wherever it is; what a dead
 * process left goes on in whichever process finds it first, and the others are told that the session is busy. The same goes
 * for runs that waited for people and have their answers.
 *
 * `npm run build`, set DATABASE_URL and OPENAI_API_KEY or OPENAI_BASE_URL, then in as many shells as you like
 * `node examples/workers.ts ask 1 "Tell me a long story"`, with `kill -9` for one of them, and `node examples/workers.ts recover`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Stream } from "effect"
import { Agent, Fiberloop, ModelOpenAi, RunEvent, RunResult } from "fiberloop"
import * as SessionStorePg from "fiberloop/layers/SessionStorePg"
import type { SessionInfo } from "fiberloop/services/SessionStore"
import { sessions } from "./http-recover.ts"

export class Worker extends Agent.Service<Worker>()("workers/Worker", { instructions: "Be brief." }) {}

/** Whose sessions these are: a store may hold those of other agents too, whose tools this one does not have. */
const prefix = "worker-"

/**
 * No end: the run goes on, or its process died. Suspended, and nobody is asked any more: it may go on. One that was aborted, as
 * by SIGTERM, has its end, and waits for whoever aborted it.
 */
const isLeft = Effect.fnUntraced(function*({ end, sessionId }: SessionInfo) {
  if (end === undefined) return true
  return end === "RunSuspended" && (yield* (yield* Worker).approvals(sessionId)).length === 0
})

/** Goes on with all that was left in the last day. Run it when a process starts, and every half minute. */
export const recover = Effect.gen(function*() {
  const worker = yield* Worker
  const goOn = ({ sessionId }: SessionInfo) =>
    worker.resume({ sessionId }).pipe(
      Stream.filter(RunEvent.isEnd),
      Stream.runForEach((end) => Console.log(`${sessionId}: ${RunResult.explain(end)}`)),
      // it lives in another process, or another was faster
      Effect.catchReason("RetryableError", "SessionBusy", () => Effect.void),
      Effect.catchReasons("NonRetryableError", { NothingToResume: () => Effect.void, StaleWriter: () => Effect.void }),
      // one that cannot go on is no reason to leave the others
      Effect.catch((error) => Console.error(`${sessionId}: ${error.message}`))
    )
  const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
  yield* sessions.pipe(
    Stream.takeWhile((session) => session.updatedAt >= now - 86_400_000),
    Stream.filter((session) => session.sessionId.startsWith(prefix)),
    Stream.filterEffect(isLeft),
    Stream.mapEffect(goOn, { concurrency: 8 }),
    Stream.runDrain
  )
})

export const ask = Effect.fnUntraced(function*(id: string, input: string) {
  const worker = yield* Worker
  yield* Console.log((yield* worker.run({ sessionId: `${prefix}${id}`, input })).text)
})

if (process.argv[1] === import.meta.filename) {
  const [what, id = "1", input = "Hello!"] = process.argv.slice(2)
  const Live = Worker.layer.pipe(
    Layer.provide([Fiberloop.layer, ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })]),
    Layer.provideMerge(SessionStorePg.layer({ url: process.env.DATABASE_URL ?? "postgres://localhost/postgres" }))
  )
  NodeRuntime.runMain(Effect.provide(what === "recover" ? recover : ask(id, input), Live))
}
