/** Examples that are servers, each in its own process: who can reach them by default, and what a deploy does. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { data, delta, done, events, finish, make, open } from "../support/OpenAiServer.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Example from "./Example.ts"

const anyPort = new URL("./AnyPort.ts", import.meta.url).href
const answer = events(data(delta({ content: "Yes." }), finish("stop")), done)

const listens = Effect.fnUntraced(function*(name: string, address: string, env: Readonly<Record<string, string>>) {
  const model = yield* make(answer)
  const folder = yield* temporaryFolder
  const example = yield* Example.start({ name, model, folder, env: { NODE_OPTIONS: `--import=${anyPort}`, ...env } })
  const where = `listens on ${address}\n`
  const ended = Effect.map(example.result, ({ out }) => assert.include(out, where))
  yield* Effect.raceFirst(example.wrote(where), ended)
})

it.live.each(["http-server.ts", "use-chat.ts", "observability.ts"])(
  "%s only listens for this machine, unless the variable HOST says otherwise",
  (name) =>
    Effect.andThen(
      listens(name, "127.0.0.1", { HOST: "" }),
      listens(name, "0.0.0.0", { HOST: "0.0.0.0" })
    )
)

/** A database that another connection keeps locked until the scope closes. */
const locked = (filename: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const database = new DatabaseSync(filename)
      database.exec("BEGIN EXCLUSIVE; CREATE TABLE held (id)")
      return database
    }),
    (database) => Effect.sync(() => database.close())
  )

it.live.each(["http-server.ts", "use-chat.ts"])(
  "%s does not listen while its store cannot be opened",
  (name) =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      yield* locked(join(folder, name.replace(".ts", ".db")))
      const model = yield* make(answer)
      const env = { NODE_OPTIONS: `--import=${anyPort}`, HOST: "" }
      const { code, out } = yield* Example.run({ name, model, folder, env })
      assert.include(out, "locked")
      assert.notInclude(out, "listens on")
      assert.strictEqual(code, 1)
    })
)

const urlOf = Effect.fnUntraced(function*(example: Effect.Success<ReturnType<typeof Example.start>>) {
  yield* example.wrote(".\n")
  const [, port] = /at port (\d+)\./.exec(yield* example.written) ?? []
  return `http://127.0.0.1:${port}/sessions/one`
})

it.live(
  "a run that a deploy cuts off continues in the next process, and so do those who read along",
  () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const [slow, quick] = [yield* make(open(data(delta({ content: "Once" })))), yield* make(answer)]
      const serve = (model: typeof quick) =>
        Example.start({ name: "http-server.ts", model, folder, env: { NODE_OPTIONS: `--import=${anyPort}`, HOST: "" } })
      const first = yield* serve(slow)
      const body = JSON.stringify({ text: "A story" })
      const headers = { "content-type": "application/json" }
      const start = `${yield* urlOf(first)}/start`
      assert.strictEqual((yield* Effect.promise(() => fetch(start, { method: "POST", body, headers }))).status, 202)
      yield* Deferred.await(slow.received)
      yield* first.terminate
      yield* first.result
      const read = `${yield* urlOf(yield* serve(quick))}/events`
      const seen = yield* Effect.promise(async (signal) => {
        let text = ""
        const { body } = await fetch(read, { signal })
        for await (const bytes of body!.pipeThrough(new TextDecoderStream())) {
          text += bytes
          if (text.includes("event: RunCompleted")) break
        }
        return text
      })
      const facts = [...seen.matchAll(/^event: (Run\w+|AssistantMessage)$/gm)].map(([, tag]) => tag)
      assert.deepStrictEqual(facts, ["RunStarted", "RunAborted", "RunResumed", "AssistantMessage", "RunCompleted"])
      assert.include(seen, "\"reason\":\"shutdown\"")
      assert.strictEqual(quick.requests.length, 1)
    }),
  120_000
)
