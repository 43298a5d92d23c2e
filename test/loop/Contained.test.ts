/** Application code that breaks where the run goes on without it is warned of: where it broke, and never in its words. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Approver from "../../src/services/Approver.ts"
import { ContextManager } from "../../src/services/ContextManager.ts"
import * as Observers from "../../src/services/Observers.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as StrategyFault from "../../src/services/StrategyFault.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import { unreadable } from "../support/Unreadable.ts"

/** What is logged, from warnings on. */
const warned = Effect.fnUntraced(function*<A, E, R>(self: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel !== "Debug" && logLevel !== "Trace" && logLevel !== "Info") lines.push([message].flat().join(" "))
  })
  const value = yield* Effect.provide(self, Logger.layer([logger]))
  return { lines, value }
})

/** Breaks with words that nobody else is to read. */
const quoting = (): never => JSON.parse("SECRET") as never
const failing = () => Effect.sync(quoting)
const here = /SyntaxError at .*Contained\.test\.ts:\d+:\d+/

describe("a handler that dies", () => {
  const died = (tool: TestAgent.Handler) =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("sorry")], { tool })
      return yield* warned(Stream.runCollect(agent.stream({ sessionId: "s", runId: "r", input: "go" })))
    })

  it.effect("is warned of, with the class of what it died of and the line, at once or later", () =>
    Effect.gen(function*() {
      for (const tool of [failing, quoting, () => Effect.andThen(Effect.yieldNow, failing())]) {
        const { lines, value } = yield* died(tool)
        assert.deepStrictEqual(RunLog.outcomes(value), ["1.0 Failed"])
        assert.lengthOf(lines, 1)
        assert.match(lines[0]!, /^the handler of the tool "work" failed: .*\(run "r", call 1\.0\)/)
        assert.match(lines[0]!, here)
        assert.notInclude(lines[0]!, "SECRET")
      }
    }))

  it.effect("is warned of by its class alone where its words may look like a line", () =>
    Effect.gen(function*() {
      const secret = () => Effect.die(new RangeError("SECRET\n    at SECRET (file.ts:1:1)"))
      const { lines } = yield* died(secret)
      assert.deepStrictEqual(lines.length, 1)
      assert.include(lines[0], "failed: RangeError (run")
      assert.notInclude(lines[0]!, "SECRET")
    }))

  it.effect("is warned of in words where it returns, or yields, what is no Effect, as untyped code may", () =>
    Effect.gen(function*() {
      const yielding = () => Effect.gen(() => [5].values() as never)
      for (const tool of [() => "SECRET", async () => "SECRET", () => undefined, yielding]) {
        const { lines } = yield* died(tool as never)
        assert.deepStrictEqual(lines, [
          "the handler of the tool \"work\" failed: it returned or yielded no Effect, such as Effect.succeed(result) " +
          "(run \"r\", call 1.0); its call has failed, and the model is told"
        ])
      }
    }))

  it.effect("is told apart from one that is missing, as among tools known only at run time", () =>
    Effect.gen(function*() {
      const find = Tool.make("find", { success: Schema.String })
      const others: ReadonlyArray<Tool.Any> = [Tool.make("pay", { success: Schema.String })]
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "", toolkit: Toolkit.make(find, ...others) }),
        Toolkit.make(find).toLayer({ find: () => Effect.succeed("found") })
      )
      const { lines, value } = yield* warned(
        Stream.runCollect(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
      )
      const [settled] = RunLog.only(value, "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, {
        _tag: "Failed",
        result:
          "The tool failed unexpectedly: the tool \"pay\" has no handler: provide what toLayer of its toolkit gives"
      })
      assert.deepStrictEqual(lines, [
        "the handler of the tool \"pay\" is missing: provide what toLayer of its toolkit gives (run \"r\", call 1.0); " +
        "its call has failed, and the model is told"
      ])
    }).pipe(Effect.provide(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ScriptedModel.layer([[ScriptedModel.call("pay", {})], ScriptedModel.text("sorry")])
    ))))

  it.effect("is told apart from one that fails, which is not warned of", () =>
    Effect.gen(function*() {
      const { lines, value } = yield* died(() => Effect.fail("no such order"))
      assert.deepStrictEqual([RunLog.outcomes(value), lines], [["1.0 Failed"], []])
    }))

  it.effect.each(Object.keys(unreadable))(
    "with %s is contained: its siblings go on, and so does the run",
    (name) =>
      Effect.gen(function*() {
        const { agent } = yield* TestAgent.make([[TestAgent.work(1), TestAgent.work(2)], ScriptedModel.text("sorry")], {
          tool: ({ n }) => n === 1 ? Effect.die(unreadable[name]!()) : Effect.succeed("done"),
          agent: { toolPolicy: { maxParallel: 2 } }
        })
        const { lines, value } = yield* warned(
          Stream.runCollect(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
        )
        assert.deepStrictEqual(RunLog.outcomes(value), ["1.0 Failed", "1.1 Succeeded"])
        assert.strictEqual(RunLog.endOf(value), "RunCompleted(stop)")
        assert.lengthOf(lines, 1)
        assert.include(lines[0], "the handler of the tool \"work\" failed (run \"r\", call 1.0)")
      })
  )

  it.effect("may interrupt itself", () =>
    Effect.gen(function*() {
      const { lines } = yield* died(() => Effect.interrupt)
      assert.lengthOf(lines, 1)
      assert.include(lines[0], "the handler of the tool \"work\" interrupted itself (run \"r\", call 1.0)")
    }))

  it.effect("is not said to have died when its run is aborted, or its time is over", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([TestAgent.work(1), TestAgent.work(2), ScriptedModel.text("done")], {
        tool: () => Effect.never,
        agent: { timeouts: { tool: "5 seconds" } }
      })
      const running = yield* Effect.forkChild(
        warned(Stream.runCollect(agent.stream({ sessionId: "s", runId: "r", input: "go" })))
      )
      yield* TestClock.adjust("5 seconds")
      yield* agent.abort("s")
      const { lines, value } = yield* Fiber.join(running)
      assert.deepStrictEqual([RunLog.outcomes(value), lines], [["1.0 TimedOut", "2.0 Interrupted"], []])
    }))
})

describe("what decides about a call", () => {
  const asking = (needsApproval: Tool.NeedsApproval<any>) => {
    const kit = Toolkit.make(
      Tool.make("pay", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.String, needsApproval })
    )
    return Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Be brief.", toolkit: kit, timeouts: { tool: "5 seconds" } })
      return yield* agent.run({ sessionId: "s", input: "go" })
    }).pipe(Effect.provide([
      ScriptedModel.layer([[ScriptedModel.call("pay", { n: 1 })], ScriptedModel.text("done")]),
      Fiberloop.layer,
      SessionStoreMemory.layer,
      kit.toLayer({ pay: () => Effect.succeed("paid") })
    ]))
  }

  it.effect("a rule that breaks asks people, and is warned of", () =>
    Effect.gen(function*() {
      for (const rule of [quoting, failing]) {
        const { lines, value } = yield* warned(asking(rule))
        assert.strictEqual(value._tag, "Suspended")
        assert.lengthOf(lines, 1)
        assert.match(lines[0]!, /^needsApproval of the tool "pay" failed: .*\(call 1\.0\); so people are asked$/)
        assert.match(lines[0]!, here)
        assert.notInclude(lines[0]!, "SECRET")
      }
    }))

  it.effect("a rule that takes too long asks people, and is warned of", () =>
    Effect.gen(function*() {
      const running = yield* Effect.forkChild(warned(asking(() => Effect.never)))
      yield* TestClock.adjust("5 seconds")
      const { lines, value } = yield* Fiber.join(running)
      assert.deepStrictEqual([value._tag, lines], ["Suspended", [
        "needsApproval of the tool \"pay\" took more than 5000 ms, the tool's time limit (call 1.0); so people are asked"
      ]])
    }))

  it.effect("an approver that breaks does not answer, and is warned of", () =>
    Effect.gen(function*() {
      const broken = asking(() => true).pipe(Effect.provideService(Approver.Approver, { ask: failing }))
      const { lines, value } = yield* warned(broken)
      assert.strictEqual(value._tag, "Suspended")
      assert.lengthOf(lines, 1)
      assert.match(lines[0]!, /^the Approver failed: .*\(pay, question ".*"\); so it does not answer$/)
      assert.match(lines[0]!, here)
      assert.notInclude(lines[0]!, "SECRET")
    }))

  it.effect.each<readonly [unknown, string]>([
    [true, "true"],
    [null, "null"],
    ["SECRET", "a text"],
    [1, "a number"],
    [["SECRET"], "a list"],
    [{ approve: "SECRET" }, "an object"],
    [{ approved: "SECRET" }, "an object"],
    [{ approved: true, args: "SECRET" }, "a yes with other fields than approved, by, reason, params and result"]
  ])("an approver that says %o does not answer, and is warned of", ([answer, what]) =>
    Effect.gen(function*() {
      const asked = asking(() => true).pipe(
        Effect.provideService(Approver.Approver, { ask: () => Effect.succeed(answer as Approver.Answer) })
      )
      const { lines, value } = yield* warned(asked)
      assert.strictEqual(value._tag, "Suspended")
      assert.lengthOf(lines, 1)
      const said = `the Approver answered ${what} instead of { approved: true } or { approved: false } (pay, question "`
      assert.isTrue(lines[0]!.startsWith(said), lines[0])
      assert.match(lines[0]!, /"\); so it does not answer$/)
    }))

  it.effect("an approver's no is one whatever else it has", () =>
    Effect.gen(function*() {
      const answer = { approved: false, note: "too much" } as const
      const asked = asking(() => true).pipe(
        Effect.provideService(Approver.Approver, { ask: () => Effect.succeed(answer) })
      )
      const { lines, value } = yield* warned(asked)
      assert.deepStrictEqual([value._tag, lines], ["Completed", []])
    }))

  it.effect("an approver may answer with an object of a class, and with fields that are undefined", () =>
    Effect.gen(function*() {
      class Answer extends Data.TaggedClass("Answer")<{ readonly approved: true; readonly args: undefined }> {}
      const answer = new Answer({ approved: true, args: undefined })
      const asked = asking(() => true).pipe(
        Effect.provideService(Approver.Approver, { ask: () => Effect.succeed(answer) })
      )
      const { lines, value } = yield* warned(asked)
      assert.deepStrictEqual([value._tag, lines], ["Completed", []])
    }))

  it.effect("an approver that is not asked, or leaves it to others, is not warned of", () =>
    Effect.gen(function*() {
      const asked = asking(() => true).pipe(
        Effect.provideService(Approver.Approver, { ask: () => Effect.succeed(undefined) })
      )
      assert.deepStrictEqual((yield* warned(asked)).lines, [])
    }))

  it.effect.each<readonly [unknown, string]>([
    [true, "true"],
    [{ approved: true }, "an object"],
    [Promise.resolve({ approved: true }), "a promise"]
  ])(
    "an approver that returns %o instead of an effect does not answer, and is warned of",
    ([answer, what]) =>
      Effect.gen(function*() {
        const asked = asking(() => true).pipe(
          Effect.provideService(Approver.Approver, { ask: () => answer as never })
        )
        const { lines, value } = yield* warned(asked)
        assert.strictEqual(value._tag, "Suspended")
        assert.lengthOf(lines, 1)
        assert.isTrue(
          lines[0]!.startsWith(`the Approver answered ${what}, which is no Effect, instead of { approved`),
          lines[0]
        )
      })
  )
})

describe("an async function that throws, in place of one that returns an effect, ends no process:", () => {
  const rejecting = (() => Promise.reject(new Error("SECRET"))) as never
  const work = [TestAgent.work(1), ScriptedModel.text("done")]
  const run = (options: TestAgent.Options["agent"], tool?: TestAgent.Handler) =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make(work, { agent: options!, ...(tool === undefined ? {} : { tool }) })
      yield* Effect.exit(agent.run({ input: "go" }))
    })
  const asking = { toolkit: Toolkit.make(TestAgent.kit.tools.work.setNeedsApproval(true)) as never }
  const ruled = { toolkit: Toolkit.make(TestAgent.kit.tools.work.setNeedsApproval(rejecting)) as never }
  const found = Effect.gen(function*() {
    const store = yield* DeadRun.of(DeadRun.inTools("work"))
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
    yield* agent.resumeRun({ sessionId: "s" })
  })

  it.live.each<readonly [string, Effect.Effect<void, unknown, Scope.Scope>]>([
    ["a handler", run({}, rejecting)],
    ["needsApproval", run(ruled)],
    ["an approver", Effect.provideService(run(asking), Approver.Approver, { ask: rejecting })],
    ["a reconciler", Effect.provideService(found, Reconciler.Reconciler, { reconcile: rejecting })],
    ["an observer", Effect.provideService(run({}), Observers.Observers, [{ name: "odd", observe: rejecting }])],
    ["a hook", run({ hooks: [{ name: "odd", beforeToolCall: rejecting }] })],
    ["stopWhen", run({ stopWhen: rejecting })],
    ["a strategy", Effect.asVoid(Effect.exit(StrategyFault.asked({ compact: rejecting }, undefined as never)))]
  ])("%s", ([, broken]) =>
    Effect.gen(function*() {
      const unheard: Array<unknown> = []
      const listen = (error: unknown) => unheard.push(error)
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("unhandledRejection", listen)),
        () => Effect.sync(() => process.off("unhandledRejection", listen))
      )
      yield* broken
      // Node tells of rejections before it takes up anything else
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.deepStrictEqual(unheard, [])
    }))
})

describe("a strategy whose plan", () => {
  const plans: ReadonlyArray<readonly [string, () => unknown, warned: RegExp]> = [
    ["throws", quoting, here],
    ["is nothing", () => undefined, /^the strategy planned undefined, which is no plan/],
    ["is an effect", () => Effect.void, /^the strategy planned an object, which is no plan/],
    ["is of no known kind", () => ({ _tag: "Nope" }), /^the strategy planned an object, which is no plan/],
    ["has no request", () => ({ _tag: "Compact" }), /^the strategy planned an object, which is no plan/],
    ["cannot be looked at", unreadable["a revoked proxy"]!, /^the strategy failed: TypeError/]
  ]
  const contexts: ReadonlyArray<
    readonly [string, (broken: Layer.Layer<ContextManager>) => Layer.Layer<ContextManager>]
  > = [
    ["alone", (broken) => broken],
    ["in a chain", (broken) => ContextChain.layer(broken, ContextWindow.layer)]
  ]
  const all = contexts.flatMap(([where, context]) =>
    plans.map(([what, ...plan]) => [what, where, context, ...plan] as const)
  )

  it.effect.each(all)("%s plans nothing, and is warned of, %s", ([, , context, plan, place]) =>
    Effect.gen(function*() {
      const broken = Layer.succeed(ContextManager, { plan: plan as never, compact: () => Effect.die("not asked") })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { context: context(broken) })
      const { lines, value } = yield* warned(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(value._tag, "Completed")
      assert.lengthOf(lines, 1)
      assert.match(lines[0]!, place)
      assert.notInclude(lines[0], "SECRET")
    }))

  it.effect.each(plans)("%s fails a compaction by hand with a typed error", ([, plan]) =>
    Effect.gen(function*() {
      const context = Layer.succeed(ContextManager, {
        plan: (view) => view.force === undefined ? { _tag: "Send" } : plan() as never,
        compact: () => Effect.die("not asked")
      })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { context })
      yield* agent.run({ sessionId: "s", input: "go" })
      const { lines, value } = yield* warned(Effect.flip(agent.compact("s")))
      assert.deepStrictEqual([value.reason._tag, value.message], [
        "CompactionFailed",
        "the strategy failed unexpectedly"
      ])
      assert.lengthOf(lines, 1)
    }))
})

describe("a reconciler", () => {
  const reconciled = (reconcile: Reconciler.Reconciler["reconcile"]) =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of(DeadRun.inTools("work"))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], {
        store,
        agent: { timeouts: { tool: "5 seconds" } }
      })
      const resumed = Stream.runCollect(agent.resume({ sessionId: "s" }))
      return yield* warned(Effect.provideService(resumed, Reconciler.Reconciler, { reconcile }))
    })

  it.effect("that takes too long is warned of", () =>
    Effect.gen(function*() {
      const running = yield* Effect.forkChild(reconciled(() => Effect.never))
      yield* TestClock.adjust("5 seconds")
      const { lines, value } = yield* Fiber.join(running)
      assert.deepStrictEqual([RunLog.outcomes(value), lines], [["1.0 OutcomeUnknown"], [
        "the Reconciler took more than 5000 ms, the time limit of the tool (work, call 1.0); so it is not known what became of the call"
      ]])
    }))

  it.effect("that breaks is warned of", () =>
    Effect.gen(function*() {
      const { lines, value } = yield* reconciled(failing)
      assert.deepStrictEqual(RunLog.outcomes(value), ["1.0 OutcomeUnknown"])
      assert.lengthOf(lines, 1)
      assert.match(
        lines[0]!,
        /^the Reconciler failed: .*\(work, call 1\.0\); so it is not known what became of the call$/
      )
      assert.match(lines[0]!, here)
      assert.notInclude(lines[0]!, "SECRET")
    }))

  it.effect.each<readonly [unknown, string]>([
    [true, "true"],
    [undefined, "undefined"],
    [{ _tag: "Ok", result: "SECRET" }, "an object"],
    [{ _tag: "Done", output: "SECRET" }, "an object with other fields than _tag and result"],
    [{ _tag: "NotDone", SECRET: true }, "an object with other fields than _tag and result"]
  ])("that says %o knows nothing, and is warned of", ([answer, what]) =>
    Effect.gen(function*() {
      const { lines, value } = yield* reconciled(() => Effect.succeed(answer as Reconciler.Answer))
      assert.deepStrictEqual([RunLog.outcomes(value), lines], [["1.0 OutcomeUnknown"], [
        `the Reconciler answered ${what} instead of { _tag: "Done" }, { _tag: "NotDone" } or { _tag: "Unknown" } ` +
        "(work, call 1.0); so it is not known what became of the call"
      ]])
    }))

  it.effect("that returns no effect knows nothing, and is warned of", () =>
    Effect.gen(function*() {
      const { lines, value } = yield* reconciled((async () => ({ _tag: "NotDone" })) as never)
      assert.deepStrictEqual(RunLog.outcomes(value), ["1.0 OutcomeUnknown"])
      assert.lengthOf(lines, 1)
      assert.include(lines[0], "the Reconciler answered a promise, which is no Effect, instead of { _tag: \"Done\" }, ")
    }))

  it.effect("may answer with an object of a class, and with fields that are undefined", () =>
    Effect.gen(function*() {
      class Done extends Data.TaggedClass("Done")<{ readonly result: string; readonly output: undefined }> {}
      const { lines, value } = yield* reconciled(() => Effect.succeed(new Done({ result: "paid", output: undefined })))
      assert.deepStrictEqual([RunLog.outcomes(value), lines], [["1.0 Succeeded"], []])
    }))

  it.effect("that says that it does not know is not warned of", () =>
    Effect.gen(function*() {
      const { lines, value } = yield* reconciled(() => Effect.succeed({ _tag: "Unknown" }))
      assert.deepStrictEqual([RunLog.outcomes(value), lines], [["1.0 OutcomeUnknown"], []])
    }))
})
