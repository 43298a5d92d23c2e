/** Hooks that return nothing usable, in every possible way, and where they are called. */
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import type { Hook, Point } from "../../src/services/Hooks.ts"

/** Appears in everything that a broken hook says. */
export const canary = "CANARY-8"

const bug = () => new Error(canary)

type Asked = () => Effect.Effect<never, unknown>

export const ways: Readonly<Record<string, Asked>> = {
  "fails": () => Effect.fail(bug()),
  "dies": () => Effect.die(bug()),
  "throws": () => {
    throw bug()
  },
  "interrupts itself": () => Effect.interrupt,
  "is late": () => Effect.andThen(TestClock.adjust("10 seconds"), Effect.never),
  "gives nothing that is an effect": () => undefined as never,
  "gives a promise": () => Promise.resolve() as never
}

/** What is unusable in a hook's result. */
export const unusable: Readonly<Record<Point, ReadonlyArray<unknown>>> = {
  beforeModelCall: [
    canary,
    { messages: canary },
    { messages: [{ role: "robot" }] },
    { tools: "look" },
    {
      tools: [7n]
    },
    { instructions: canary },
    { tools: ["look"], activeTools: ["look"] },
    { _tag: "Deny", reason: canary }
  ],
  afterModelCall: [false, null, canary, {}, { tripwireTriggered: true }, { _tag: "Deny", reason: canary }],
  beforeToolCall: [
    true,
    { _tag: "Maybe" },
    { _tag: "Change" },
    { _tag: "Answer", result: undefined },
    {
      _tag: "Deny"
    },
    { _tag: "Deny", reason: canary, params: {} },
    { _tag: "Change", params: { n: 1 }, result: canary }
  ],
  afterToolCall: [canary, { outcome: canary }, { outcome: { _tag: "Great" } }, { outcome: { _tag: "Succeeded" } }, {
    outcome: { _tag: "Succeeded", result: "masked" },
    terminate: true
  }]
}

export const points: ReadonlyArray<Point> = ["beforeModelCall", "afterModelCall", "beforeToolCall", "afterToolCall"]

/** A hook that breaks at one point. */
export const at = (point: Point, break_: Asked, more: Partial<Hook> = {}): Hook => ({
  name: "broken",
  [point]: break_,
  ...more
})
