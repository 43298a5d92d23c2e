/** What an agent brings to a run is made for that run's input, whatever its earlier runs were. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Definition from "../../../src/loop/env/Definition.ts"
import type * as DriveRequest from "../../../src/loop/env/DriveRequest.ts"
import * as Brief from "../../../src/loop/start/Brief.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunInput from "../../../src/run/RunInput.ts"
import * as RunPolicy from "../../../src/run/RunPolicy.ts"

const agent = (toolPolicy: RunPolicy.ToolPolicy = {}): Definition.Definition => ({
  name: "test/Agent",
  instructions: "Be brief.",
  handlers: { tools: { a: Tool.make("a"), b: Tool.make("b") }, handle: () => Effect.die("not for this test") },
  timeouts: {},
  limits: {},
  output: undefined,
  toolPolicy,
  doomLoop: undefined,
  rules: {}
})

const input = (over: Partial<RunInput.Effective> = {}): RunInput.Effective => ({
  messages: [Message.user("go")],
  toolPolicy: {},
  limits: {},
  ...over
})

const offer = ({ system, tools }: DriveRequest.Brief) => [system?.content, tools.map(({ name }) => name)]

const cuts: ReadonlyArray<readonly [string, Partial<RunInput.Effective>, ReadonlyArray<unknown>]> = [
  ["other instructions", { instructions: "Be long." }, ["Be long.", ["a", "b"]]],
  ["fewer tools", { allowedTools: ["b"] }, ["Be brief.", ["b"]]],
  ["tools in another order", { toolOrder: ["b"] }, ["Be brief.", ["b", "a"]]],
  ["an allow list", { toolPolicy: { allowList: ["a"] } }, ["Be brief.", ["a"]]],
  ["no tools", { toolPolicy: { enabled: false } }, ["Be brief.", []]]
]

describe("a run's brief", () => {
  it.effect.each(cuts)(
    "has %s when the input says so, and those before and after have everything",
    ([, over, made]) =>
      Effect.gen(function*() {
        const definition = agent()
        const of = (over?: Partial<RunInput.Effective>) =>
          Effect.map(Brief.make(definition, input(over), RunPolicy.defaultTimeouts), offer)
        const all = ["Be brief.", ["a", "b"]]
        assert.deepStrictEqual([yield* of(over), yield* of(), yield* of(over), yield* of()], [made, all, made, all])
      })
  )

  it.effect("has the time limits and the policy of its own run", () =>
    Effect.gen(function*() {
      const definition = agent()
      const short = { ...RunPolicy.defaultTimeouts, tool: Duration.seconds(1) }
      const parallel = { maxParallel: 4 }
      const none = {}
      for (
        const [timeouts, toolPolicy] of [
          [short, none],
          [RunPolicy.defaultTimeouts, none],
          [RunPolicy.defaultTimeouts, parallel],
          [short, parallel],
          [short, none]
        ] as const
      ) {
        const brief = yield* Brief.make(definition, input({ toolPolicy }), timeouts)
        assert.deepStrictEqual([brief.timeouts, brief.policy], [timeouts, toolPolicy])
      }
    }))

  it.effect("is its agent's, even if another one has the same name and instructions", () =>
    Effect.gen(function*() {
      const [first, second] = [agent(), { ...agent(), handlers: { ...agent().handlers, tools: {} } }]
      const of = (definition: Definition.Definition) =>
        Effect.map(Brief.make(definition, input(), RunPolicy.defaultTimeouts), offer)
      assert.deepStrictEqual(yield* of(first), ["Be brief.", ["a", "b"]])
      assert.deepStrictEqual(yield* of(second), ["Be brief.", []])
    }))

  it.effect("of a run in the log has what the agent still allows of what it had", () =>
    Effect.gen(function*() {
      const given = input({ toolPolicy: { allowList: ["a", "b"], maxParallel: 2 } })
      const brief = yield* Brief.ofLog(
        agent({ allowList: ["b"], requireApprovalByDefault: true }),
        given,
        RunPolicy.defaultTimeouts
      )
      assert.deepStrictEqual(offer(brief), ["Be brief.", ["b"]])
      assert.deepStrictEqual(brief.policy, { allowList: ["b"], maxParallel: 2, requireApprovalByDefault: true })
    }))
})
