/** The context that a handler sees: its agent's services, the caller's over them, and its own call. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as KnownHandler from "../../../src/layers/tools/KnownHandler.ts"
import { ToolCall } from "../../../src/services/ToolCall.ts"
import type * as ToolExecutor from "../../../src/services/ToolExecutor.ts"

const settings = Array.from(
  { length: 20 },
  (_, i) => Context.Reference<string | undefined>(`test/KnownHandler/${i}`, { defaultValue: () => "default" })
)

const contextWith = (value: string | undefined, which: ReadonlyArray<number>) =>
  which.reduce(
    (sum: Context.Context<never>, i) => Context.add(sum, settings[i]!, value),
    Context.empty() as Context.Context<never>
  )

const callOf = (callId: string) =>
  ({
    identity: { sessionId: "s", runId: "r", callId, idempotencyKey: "key", attempt: 1, data: undefined }
  }) as ToolExecutor.Call

const seen = (ofAgent: Context.Context<never>, given: Context.Context<never>, callId = "1.0") => {
  const context = KnownHandler.contextOf({ context: ofAgent } as never, given, callOf(callId))
  return {
    values: settings.map((setting) => Context.get(context, setting)),
    callId: Context.get(context as Context.Context<ToolCall>, ToolCall).callId
  }
}

const numbers = (length: number) => Array.from({ length }, (_, i) => i)

describe.each([2, 6, 7, 20])("a handler of an agent with %i services", (count) => {
  const ofAgent = contextWith("the agent's", numbers(count))

  it("sees those that the caller does not have", () => {
    const { values } = seen(ofAgent, Context.empty() as Context.Context<never>)
    assert.deepStrictEqual(values, numbers(20).map((i) => i < count ? "the agent's" : "default"))
  })

  it("sees the caller's instead of them, even an undefined one", () => {
    const given = Context.add(contextWith("the caller's", [1, 19]), settings[0]!, undefined)
    const { values } = seen(ofAgent, given)
    assert.deepStrictEqual(
      values,
      numbers(20).map((i) => {
        if (i === 0) return undefined
        return i === 1 || i === 19 ? "the caller's" : i < count ? "the agent's" : "default"
      })
    )
  })

  it("sees its own call, not an earlier one", () => {
    const given = contextWith("the caller's", [0])
    assert.deepStrictEqual(["1.0", "1.1"].map((id) => seen(ofAgent, given, id).callId), ["1.0", "1.1"])
  })
})
