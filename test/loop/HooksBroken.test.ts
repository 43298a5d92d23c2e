/** A guard without a usable answer blocks, whatever is wrong with it: none fails open. An observer is named and ignored. */
import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as RunError from "../../src/run/RunError.ts"
import type { Hook, Point } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as BrokenHooks from "../support/BrokenHooks.ts"
import * as Obstacle from "../support/Obstacle.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** Runs an agent with a hook that breaks, and returns the outcome with everything that was logged. */
const play = Effect.fnUntraced(function*(hook: Hook) {
  const logs: Array<string> = []
  const logger = Logger.make((options) => void logs.push(Logger.formatJson.log(options)))
  let ran = 0
  const { agent, script, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
    agent: { hooks: [hook] },
    tool: () => Effect.sync(() => `${++ran}`)
  })
  const exit = yield* agent.run({ sessionId: "s", input: "go" }).pipe(
    Effect.exit,
    Effect.provide(Logger.layer([logger]))
  )
  const log = yield* store.log("s")
  const requests = yield* script.requests
  assert.deepStrictEqual(RunLog.violations(log), [])
  // what a guard says to block is the `cause` of the error, and is shown where that is printed
  const printed = Exit.isFailure(exit) && RunError.fromCause(exit.cause).cause !== undefined ? "" : String(exit)
  assert.notInclude(JSON.stringify([log, printed, exit, logs, requests]), BrokenHooks.canary)
  return { end: RunLog.endOf(log), outcomes: RunLog.outcomes(log), requests: requests.length, ran, logs }
})

/** What a broken guard leaves of a run with one call and an answer. */
const blocked: Record<Point, Omit<Effect.Success<ReturnType<typeof play>>, "logs">> = {
  beforeModelCall: { end: "RunFailed(HookBlocked)", outcomes: [], requests: 0, ran: 0 },
  afterModelCall: { end: "RunFailed(HookBlocked)", outcomes: ["1.0 NotExecuted(failed)"], requests: 1, ran: 0 },
  beforeToolCall: { end: "RunCompleted(stop)", outcomes: ["1.0 Denied"], requests: 2, ran: 0 },
  afterToolCall: { end: "RunCompleted(stop)", outcomes: ["1.0 Failed"], requests: 2, ran: 1 }
}

const untouched = { end: "RunCompleted(stop)", outcomes: ["1.0 Succeeded"], requests: 2, ran: 1 }

for (const point of BrokenHooks.points) {
  describe(`at ${point}, a hook`, () => {
    for (const [way, break_] of Object.entries(BrokenHooks.ways)) {
      it.effect(`that ${way} blocks as a guard`, () =>
        Effect.gen(function*() {
          const { logs, ...left } = yield* play(BrokenHooks.at(point, break_))
          assert.deepStrictEqual(left, blocked[point])
          // to fail is how a guard blocks
          assert.lengthOf(logs, way === "fails" ? 0 : 1)
          for (const line of logs) {
            assert.match(line, new RegExp(`"message":"the hook .*broken.*${point} 1.*it is a guard, so this blocks`))
          }
        }))

      it.effect(`that ${way} is named and ignored as an observer`, () =>
        Effect.gen(function*() {
          const { logs, ...left } = yield* play(BrokenHooks.at(point, break_, { kind: "observer" }))
          assert.deepStrictEqual(left, untouched)
          assert.lengthOf(logs, point.endsWith("ModelCall") ? 2 : 1)
          for (const line of logs) {
            assert.match(line, new RegExp(`"message":"the hook .*broken.*${point}.*"level":"WARN"`))
          }
        }))
    }

    it.effect("that declares itself a guard is one", () =>
      Effect.gen(function*() {
        const { logs, ...left } = yield* play(BrokenHooks.at(point, () => Effect.fail("no"), { kind: "guard" }))
        assert.deepStrictEqual(left, blocked[point])
        assert.deepStrictEqual(logs, [])
      }))

    for (const value of BrokenHooks.unusable[point]) {
      const name = JSON.stringify(value, (_, part: unknown) => typeof part === "bigint" ? `${part}n` : part)
      const gives = () => Effect.succeed(value as never)
      it.effect(`that returns ${name} blocks as a guard`, () =>
        Effect.gen(function*() {
          const { logs, ...left } = yield* play(BrokenHooks.at(point, gives))
          assert.deepStrictEqual(left, blocked[point])
          assert.lengthOf(logs, 1)
          assert.match(
            logs[0]!,
            new RegExp(`returned something that cannot be used: it may return .*nothing.*${point} 1`)
          )
        }))

      it.effect(`that returns ${name} is named and ignored as an observer`, () =>
        Effect.gen(function*() {
          const { logs, ...left } = yield* play(BrokenHooks.at(point, gives, { kind: "observer" }))
          assert.deepStrictEqual(left, untouched)
          for (const line of logs) assert.match(line, /the hook .*broken.* returned something that cannot be used/)
          assert.lengthOf(logs, point.endsWith("ModelCall") ? 2 : 1)
        }))
    }
  })
}

describe("what a hook gives", () => {
  it.effect("may be an object of a class, and may have fields that are undefined", () =>
    Effect.gen(function*() {
      class Deny extends Data.TaggedClass("Deny")<{ readonly reason: string; readonly by: undefined }> {}
      class Only extends Schema.Class<Only>("Only")({ tools: Schema.Array(Schema.String) }) {
        readonly words = () => this.tools.join()
      }
      const hook: Hook = {
        name: "h",
        beforeModelCall: () => Effect.succeed(new Only({ tools: ["work"] })),
        beforeToolCall: () => Effect.succeed(new Deny({ reason: "no", by: undefined }))
      }
      const { logs, ...left } = yield* play(hook)
      assert.deepStrictEqual(left, blocked.beforeToolCall)
      assert.deepStrictEqual(logs, [])
    }))
})

describe("the class of what a hook died of, and where", () => {
  it.effect("is in the warning, without what it says", () =>
    Effect.gen(function*() {
      const break_ = () => Effect.die(new TypeError(BrokenHooks.canary))
      for (const point of BrokenHooks.points) {
        const { logs: [asGuard = ""] } = yield* play(BrokenHooks.at(point, break_))
        assert.match(
          asGuard,
          new RegExp(`failed: TypeError at .*HooksBroken.test.ts:.* \\(${point} 1(.0)?\\); it is a guard`)
        )
        const { logs: [asObserver = ""] } = yield* play(BrokenHooks.at(point, break_, { kind: "observer" }))
        assert.match(
          asObserver,
          new RegExp(`failed: TypeError at .*HooksBroken.test.ts:.* \\(${point} 1(.0)?\\); it is an observer`)
        )
      }
    }))
})

describe("an observer", () => {
  it.effect("changes nothing, whatever it returns", () =>
    Effect.gen(function*() {
      const observer: Hook = {
        name: "o",
        kind: "observer",
        beforeModelCall: () => Effect.succeed({ messages: [], tools: [] }),
        beforeToolCall: () => Effect.succeed({ _tag: "Deny", reason: "no" }),
        afterToolCall: () => Effect.succeed({ outcome: { _tag: "Succeeded", result: "mine" } })
      }
      const { logs, ...left } = yield* play(observer)
      assert.deepStrictEqual(left, untouched)
      assert.deepStrictEqual(logs, [])
    }))
})

describe("a hook that is an async function", () => {
  it.effect("is named with the way out, and what it rejects with ends nothing else", () =>
    Effect.gen(function*() {
      const hook: Hook = {
        name: "async",
        beforeModelCall: () => Promise.reject(new Error(BrokenHooks.canary)) as never
      }
      const { end, logs } = yield* play(hook)
      assert.strictEqual(end, "RunFailed(HookBlocked)")
      assert.lengthOf(logs, 1)
      assert.include(
        logs[0],
        "failed: it returned no Effect, such as Effect.void or Effect.promise(() => ...) (beforeModelCall 1)"
      )
    }))
})

describe("the time limit of a hook", () => {
  it.effect("is its own if it sets one, for each run of it", () =>
    Effect.gen(function*() {
      const slow: Hook = {
        name: "slow",
        timeout: "5 seconds",
        beforeModelCall: () => TestClock.adjust("4999 millis"),
        beforeToolCall: () => Effect.andThen(TestClock.adjust("5 seconds"), Effect.never)
      }
      const { end, outcomes, requests } = yield* play(slow)
      assert.deepStrictEqual({ end, outcomes, requests }, {
        end: "RunCompleted(stop)",
        outcomes: ["1.0 Denied"],
        requests: 2
      })
    }))

  it.effect("is not extended by a hook that does not stop: that is left behind, and named in the end", () =>
    Effect.gen(function*() {
      const obstacle = Obstacle.make("stuck")
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: { hooks: [{ name: "stuck", beforeToolCall: () => obstacle.wait }] }
      })
      const running = yield* Effect.forkChild(agent.run({ sessionId: "s", input: "go" }))
      yield* obstacle.reached
      yield* TestClock.adjust("15 seconds")
      yield* Fiber.join(running)
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Denied"])
      assert.deepInclude(log.at(-1), { _tag: "RunCompleted", leftBehind: ["hook stuck"] })
      yield* obstacle.letGo
    }))

  it.effect.each<readonly [string, Partial<NonNullable<TestAgent.Options["agent"]>>]>([
    ...BrokenHooks.points.map((point) => [point, { hooks: [{ name: "h", [point]: () => Effect.void }] }] as const),
    ["stopWhen", { stopWhen: () => Effect.succeed(false) }],
    ["stopBefore", { stopBefore: () => Effect.succeed(false) }],
    ["prepareTurn", { prepareTurn: () => Effect.succeed({}) }]
  ])("lets pass what answers at once, however far a test's clock leaps: %s", ([, options]) =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([Overloaded.fail(7000), TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: options
      })
      const running = yield* Effect.forkChild(agent.run({ input: "go" }))
      yield* TestClock.adjust("0 seconds")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* Fiber.join(running)).text, "ok")
    }))
})
