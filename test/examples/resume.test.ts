/** examples/resume.ts in its own processes. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import { data, delta, done, events, finish, make, toolCalls } from "../support/OpenAiServer.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Example from "./Example.ts"

const look = (id: string, place: string) =>
  events(
    data(
      toolCalls({
        index: 0,
        id,
        type: "function",
        function: { name: "look_up", arguments: JSON.stringify({ place }) }
      }),
      finish("tool_calls")
    ),
    done
  )
const says = (content: string) => events(data(delta({ content }), finish("stop")), done)

it.live("a run that stopped at its limit continues in another process, and nothing is done twice", () =>
  Effect.gen(function*() {
    const RESUME_DB = join(yield* temporaryFolder, "resume.db")
    const model = yield* make(
      look("a", "the opera"),
      look("b", "the fjord"),
      look("c", "the fjord"),
      says("Opera, then fjord.")
    )
    const example = (...args: ReadonlyArray<string>) =>
      Example.run({ name: "resume.ts", args, model, env: { RESUME_DB } })

    const first = yield* example("start", "trip", "Plan a day.")
    assert.deepStrictEqual(first, {
      code: 0,
      out: "(reading about the opera)\n" +
        "The run stopped at the limit of turns, after 2 turns and 1 tool call; resume the run with a higher maxTurns to go on.\n"
    })
    const second = yield* example("resume", "trip")
    assert.deepStrictEqual(second, {
      code: 0,
      out:
        "(reading about the fjord)\nOpera, then fjord.\nThe model finished its answer, after 4 turns and 2 tool calls.\n"
    })

    const store = yield* SessionStoreSqlite.make({ filename: RESUME_DB })
    const log = yield* Stream.runCollect(store.read("trip"))
    assert.strictEqual(new Set(log.map((event) => event.runId)).size, 1)
    assert.deepStrictEqual(
      log.flatMap((event) => event._tag.startsWith("Run") ? [event._tag] : []),
      ["RunStarted", "RunLimited", "RunResumed", "RunCompleted"]
    )
    assert.deepStrictEqual(model.requests.map(({ body }) => body.messages.length), [2, 4, 6, 8])
  }))

it.live("a session that nobody started has nothing to resume", () =>
  Effect.gen(function*() {
    const RESUME_DB = join(yield* temporaryFolder, "resume.db")
    const model = yield* make(says("Hello?"))
    const { out } = yield* Example.run({ name: "resume.ts", args: ["resume", "trip"], model, env: { RESUME_DB } })
    assert.match(out, /there is no session "trip"/i)
    assert.strictEqual(model.requests.length, 0)
  }))
