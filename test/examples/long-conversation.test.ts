/** examples/long-conversation.ts in its own processes: asked twice, then compacted by hand. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { data, delta, done, events, finish, make } from "../support/OpenAiServer.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Example from "./Example.ts"

const says = (content: string) => events(data(delta({ content }), finish("stop")), done)

it.live("a conversation across several processes is summed up by the cheaper model", () =>
  Effect.gen(function*() {
    const MANUAL_DB = join(yield* temporaryFolder, "manual.db")
    const model = yield* make(says("The screw turns. ".repeat(200)), says("It turns."), says("A screw."))
    const run = (input: string) =>
      Example.run({
        name: "long-conversation.ts",
        args: [input],
        model,
        env: { MANUAL_DB, FIBERLOOP_MODEL: "dear", CHEAP_MODEL: "cheap" }
      })
    assert.strictEqual((yield* run("--compact")).out, "nothing was asked yet\n")
    yield* run("What of the screw?")
    yield* run("And the other one?")
    const { code, out } = yield* run("--compact")
    assert.strictEqual(code, 0)
    assert.match(out, /^summary: \d+ to \d+ tokens\n$/)
    assert.deepStrictEqual(model.requests.map(({ body }) => body.model), ["dear", "dear", "cheap"])
  }))
