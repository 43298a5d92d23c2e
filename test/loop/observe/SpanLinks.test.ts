/** The spans of a run's drives link each to the one before, wherever that was driven. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { join } from "node:path"
import { Agent, Fiberloop, SessionStoreSqlite } from "../../../src/index.ts"
import * as RunSpan from "../../../src/loop/observe/RunSpan.ts"
import * as RunEvent from "../../../src/run/RunEvent.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import { temporaryFolder } from "../../support/Processes.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as Traces from "../../support/Traces.ts"

const limited = { sessionId: "s", input: "go", limits: { maxTurns: 1 } }
const goOn = { sessionId: "s", limits: { maxTurns: 9 } }

const traced = (traces: Traces.Traces) => Effect.provideService(Tracer.Tracer, traces.tracer)

const drives = (traces: Traces.Traces) => traces.spans.filter(({ name }) => name.startsWith("invoke_agent "))
const idsOf = ({ spanId, traceId }: Tracer.AnySpan) => ({ traceId, spanId })
const linksOf = ({ links }: Tracer.NativeSpan) => links.map(({ span }) => idsOf(span))

const traceOf = (log: ReadonlyArray<RunEvent.RunEvent>) => log.findLast(RunEvent.isEnd)?.trace

describe("a run that is resumed", () => {
  it.effect("has a span that is linked to that of the drive before, and to no other", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), TestAgent.work(2), ScriptedModel.text("done")])
      yield* traced(traces)(Effect.gen(function*() {
        yield* agent.run(limited)
        yield* agent.resumeRun({ sessionId: "s", limits: { maxTurns: 2 } })
        yield* agent.resumeRun(goOn)
      }))
      const [first, second, third] = drives(traces)
      assert.deepStrictEqual([first, second, third].map((span) => linksOf(span!)), [
        [],
        [idsOf(first!)],
        [idsOf(second!)]
      ])
      assert.deepStrictEqual(traceOf(yield* store.log("s")), idsOf(third!))
    }))

  it.effect("is linked to a drive that another runtime traced, unlike a new run in the session", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporaryFolder, "s.db")
      // each has its own store, model, runs and tracer
      const apart = (
        turn: ScriptedModel.Turn,
        use: (agent: Agent.Client<string>) => Effect.Effect<unknown, unknown>
      ) =>
        Effect.scoped(Effect.gen(function*() {
          const traces = Traces.make()
          const below = Layer.mergeAll(
            Fiberloop.layer,
            SessionStoreSqlite.layer({ filename }),
            ScriptedModel.layer([turn]),
            TestAgent.kit.toLayer({ work: done, look: done, again: done })
          )
          const context = yield* Layer.build(below)
          const agent = yield* Effect.provide(Agent.make({ instructions: "", toolkit: TestAgent.kit }), context)
          yield* traced(traces)(use(agent))
          const events = yield* Stream.runCollect(
            Stream.unwrap(Effect.map(SessionStore.SessionStore, (store) => store.read("s")))
          ).pipe(Effect.provide(context))
          return { span: drives(traces)[0]!, trace: traceOf(events) }
        }))
      const first = yield* apart(TestAgent.work(1), (agent) => agent.run(limited))
      const second = yield* apart(ScriptedModel.text("done"), (agent) => agent.resumeRun(goOn))
      const third = yield* apart(ScriptedModel.text("more"), (agent) => agent.run({ sessionId: "s", input: "more" }))
      assert.deepStrictEqual(first.trace, idsOf(first.span))
      assert.deepStrictEqual(linksOf(second.span), [idsOf(first.span)])
      assert.notStrictEqual(second.span.traceId, first.span.traceId)
      assert.deepStrictEqual(linksOf(third.span), [])
    }))

  it.effect("in a fork is linked to the drive that it continues from, as the original is", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const turns = [TestAgent.work(1), ScriptedModel.text("done"), ScriptedModel.text("done")]
      const { agent, store } = yield* TestAgent.make(turns)
      yield* traced(traces)(Effect.gen(function*() {
        yield* agent.run(limited)
        yield* store.service.fork("s", { to: "copy" })
        yield* agent.resumeRun({ ...goOn, sessionId: "copy" })
        yield* agent.resumeRun(goOn)
      }))
      const [first, forked, second] = drives(traces)
      assert.deepStrictEqual([forked, second].map((span) => linksOf(span!)), [[idsOf(first!)], [idsOf(first!)]])
    }))

  it("is not linked to ids from a foreign log that would make a collector refuse its span", () => {
    const begin = () =>
      new Tracer.NativeSpan({
        name: "invoke_agent a",
        parent: Option.none(),
        annotations: Context.empty(),
        links: [],
        startTime: 0n,
        kind: "internal",
        sampled: true
      })
    for (const trace of [{ traceId: "1", spanId: "b".repeat(16) }, { traceId: "a".repeat(32), spanId: "<b>" }]) {
      const span = begin()
      RunSpan.follow(span, trace)
      assert.deepStrictEqual(span.links, [])
    }
    const span = begin()
    RunSpan.follow(span, { traceId: "a".repeat(32), spanId: "b".repeat(16) })
    assert.lengthOf(span.links, 1)
  })

  it.effect("by a tracer whose links break has an incomplete span, which is reported, and continues", () =>
    Effect.gen(function*() {
      const warnings: Array<unknown> = []
      const traces = Traces.make()
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")])
      const { runId } = yield* traced(Traces.make())(agent.run(limited))
      const broken = Tracer.make({
        span: (options) =>
          Object.assign(traces.tracer.span(options), {
            addLinks: () => {
              throw new Error("broken")
            }
          })
      })
      const result = yield* agent.resumeRun(goOn).pipe(
        Effect.provideService(Tracer.Tracer, broken),
        Effect.provide(Logger.layer([Logger.make(({ message }) => void warnings.push(String(message)))]))
      )
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(warnings, [`the spans of run "${runId}" failed and are incomplete`])
      const [span] = drives(traces)
      assert.deepStrictEqual([Traces.stateOf(span!), span!.attributes.has("fiberloop.run.end")], ["ok", false])
    }))
})

const done: TestAgent.Handler = ({ n }) => Effect.succeed(`done ${n}`)

describe("the log of a run", () => {
  it.effect("has no trace of spans with invalid ids", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("done")])
      const odd = Tracer.make({
        span: (options) => Object.defineProperty(new Tracer.NativeSpan(options), "spanId", { value: "7" })
      })
      yield* Effect.provideService(agent.run({ sessionId: "s", input: "go" }), Tracer.Tracer, odd)
      for (const event of yield* store.log("s")) assert.notProperty(event, "trace")
    }))

  it.effect("has no trace of spans that nobody sees, or that are not sampled", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const unsampled = Tracer.externalSpan({ traceId: "0".repeat(32), spanId: "0".repeat(16), sampled: false })
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")])
      yield* agent.run(limited)
      yield* agent.resumeRun(goOn).pipe(Effect.withParentSpan(unsampled), traced(traces))
      const log = yield* store.log("s")
      assert.strictEqual(drives(traces).length, 1)
      assert.deepStrictEqual(linksOf(drives(traces)[0]!), [])
      for (const event of log) assert.notProperty(event, "trace")
    }))
})
