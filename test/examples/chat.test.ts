/** examples/chat.ts in its own process, with a real Ctrl-C. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { data, delta, make, open } from "../support/OpenAiServer.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Example from "./Example.ts"

it.live("Ctrl-C closes the model's connection and leaves a prompt; a second one at the prompt exits", () =>
  Effect.gen(function*() {
    const CHAT_DB = join(yield* temporaryFolder, "chat.db")
    const model = yield* make(open(data(delta({ content: "Once upon" }))))
    const chat = yield* Example.start({ name: "chat.ts", model, env: { CHAT_DB } })
    yield* chat.wrote("> ")
    yield* chat.write("A story!\n")
    yield* chat.wrote("Once upon")
    yield* chat.interrupt
    yield* chat.wrote("(aborted)\n> ")
    yield* Deferred.await(model.left)
    yield* chat.interrupt
    const { code, out } = yield* chat.result
    assert.deepStrictEqual({ code, out }, { code: null, out: "> Once upon (aborted)\n> " })
  }))
