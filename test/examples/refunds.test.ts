/** examples/refunds.ts in its own processes: asked in one, approved in another, paid in a third. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { data, delta, done, events, finish, make, toolCalls } from "../support/OpenAiServer.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Example from "./Example.ts"

const refund = events(
  data(
    toolCalls({
      index: 0,
      id: "a",
      type: "function",
      function: { name: "refund", arguments: JSON.stringify({ order: "7", euros: 80 }) }
    }),
    finish("tool_calls")
  ),
  done
)
const says = (content: string) => events(data(delta({ content }), finish("stop")), done)

const shop = Effect.fnUntraced(function*() {
  const folder = yield* temporaryFolder
  const model = yield* make(refund, says("You get 80 euros back."))
  const till = join(folder, "refunds.jsonl")
  return {
    model,
    paid: () => existsSync(till) ? readFileSync(till, "utf8").trimEnd().split("\n") : [],
    run: (...args: ReadonlyArray<string>) =>
      Effect.map(
        Example.run({ name: "refunds.ts", args, model, env: { REFUNDS_FOLDER: folder } }),
        ({ out }) => out
      )
  }
})

it.live("a refund approved in another process is paid by a third, once", () =>
  Effect.gen(function*() {
    const { model, paid, run } = yield* shop()
    assert.match(yield* run("ask", "lamp", "My lamp arrived broken."), /waits for a person/)
    assert.strictEqual(yield* run("approve", "lamp"), "approved: refund {\"order\":\"7\",\"euros\":80}\n")
    assert.deepStrictEqual([paid(), model.requests.length], [[], 1])
    // answered already: there is nothing left to decide
    assert.strictEqual(yield* run("approve", "lamp"), "")
    assert.match(yield* run("resume", "lamp"), /^You get 80 euros back\.\n/)
    assert.strictEqual(paid().length, 1)
    assert.match(yield* run("resume", "lamp"), /is complete/)
    assert.strictEqual(paid().length, 1)
  }))
