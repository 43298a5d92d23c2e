/** `/compact` in a real terminal. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as OpenAiServer from "../../support/OpenAiServer.ts"
import * as Child from "../Child.ts"
import * as Replies from "../Replies.ts"
import * as Terminal from "../Terminal.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

it.live("shows that it works until it has ended, and leaves no trace of that", () =>
  Effect.gen(function*() {
    const said = [Replies.says("what came of it ".repeat(40)), Replies.says("Well.")]
    const model = yield* OpenAiServer.make(...said, OpenAiServer.open())
    const options = { cwd: yield* sandbox(), env: Replies.env(model) }
    yield* Child.run(["run", "--model", "m", "tell me"], options)
    yield* Child.run(["run", "--session", "last", "go on"], options)
    const { ended, sees, type } = yield* Terminal.start(["chat", "--session", "last"], options)
    yield* sees("\n›")
    yield* type("/compact\r")
    yield* sees("shortening the conversation")
    yield* type("\x03")
    yield* Deferred.await(model.left)
    yield* sees("not changed.\n›")
    yield* type("\x04")
    const { screen } = yield* ended
    assert.include(screen, "› /compact\nStopped; the conversation was not changed.\n")
  }))
