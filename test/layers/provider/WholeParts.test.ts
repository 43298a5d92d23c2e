/** A streamed answer made whole. */
import { assert, it } from "@effect/vitest"
import type * as Response from "effect/ai/Response"
import * as WholeParts from "../../../src/layers/provider/WholeParts.ts"

const text = (id: string, delta: string): ReadonlyArray<Response.StreamPartEncoded> => [
  { type: "text-start", id },
  { type: "text-delta", id, delta },
  { type: "text-end", id }
]

it("texts before and after a call stay two texts, even if the provider gives both one id", () => {
  const call = { type: "tool-call", id: "call-1", name: "look", params: {} } as const
  const whole = WholeParts.collect([...text("0", "before"), call, ...text("0", "after")])
  assert.deepStrictEqual(whole, [
    { type: "text", text: "before", metadata: {} },
    call,
    { type: "text", text: "after", metadata: {} }
  ])
})
