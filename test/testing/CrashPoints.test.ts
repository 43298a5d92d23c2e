/** The points of a process's death, around whatever kind of store, session and executor is below. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ToolExecutor from "../../src/services/ToolExecutor.ts"
import * as CrashPoints from "../../src/testing/CrashPoints.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { completed, notice, open, started, write } from "../../src/testing/sessions/Fixtures.ts"
import * as Bound from "../support/Bound.ts"
import * as ClassStore from "../support/ClassStore.ts"
import * as TestAgent from "../support/TestAgent.ts"

const executor = Layer.effect(
  ToolExecutor.ToolExecutor,
  Effect.map(
    Layer.build(ToolExecutorToolkit.layer),
    (context) => Bound.only(Context.get(context, ToolExecutor.ToolExecutor))
  )
)

it.effect("a run over instances of classes passes a point before and after each write and each call", () =>
  Effect.gen(function*() {
    const points: Array<string> = []
    const below = CrashPoints.layer(
      Layer.merge(ClassStore.layer, executor),
      (n, what) => points.push(`${n} ${what}`)
    )
    const model = ScriptedModel.layer([TestAgent.work(1), ScriptedModel.text("done")])
    const { agent } = yield* TestAgent.make([], { model: Layer.merge(model, below) })
    const { text } = yield* agent.run({ sessionId: "s", input: "go" })
    assert.strictEqual(text, "done")
    assert.deepStrictEqual(points.slice(0, 4), [
      "1 before opening the session",
      "2 after opening the session",
      "3 before storing RunStarted",
      "4 after storing RunStarted"
    ])
    const ofCall = points.filter((point) => point.includes("running")).map((point) => point.replace(/^\d+ /, ""))
    assert.deepStrictEqual(ofCall, ["before running work", "after running work"])
    assert.deepStrictEqual((yield* agent.recover()).runs, [])
  }))

/** What is done in a store of classes, with its points in words. */
const passing = Effect.fnUntraced(function*<E>(
  act: Effect.Effect<unknown, E, SessionStore.SessionStore>,
  point: (what: string, confirmed: (sessionId: string) => number) => string = (what) => what
) {
  const points: Array<string> = []
  const below = CrashPoints.layer(
    Layer.merge(ClassStore.layer, executor),
    (_, what, confirmed) => points.push(point(what, confirmed))
  )
  yield* Effect.provide(act, below)
  return points
})

const sent: SessionStore.Sent = { _tag: "Input", id: "a", after: 0, kind: "steer", messages: [] }

it.effect("a process passes a point before and after it forks, removes, or tells another one something", () =>
  Effect.gen(function*() {
    const points = yield* passing(Effect.gen(function*() {
      const store = yield* SessionStore.SessionStore
      yield* write("s", [started({ seq: 1 }), completed({ seq: 2 })])
      yield* store.fork("s", { to: "t" })
      yield* store.askToAbort!("s", "run-1")
      yield* store.send!("s", "run-1", sent)
      yield* store.remove("t")
    }))
    assert.deepStrictEqual(points.slice(4), [
      "before forking",
      "after forking",
      "before asking for an abort",
      "after asking for an abort",
      "before sending",
      "after sending",
      "before removing",
      "after removing"
    ])
  }))

it.effect("a store that passes nothing on to other processes passes nothing on with points around it", () =>
  Effect.gen(function*() {
    const memory = yield* SessionStoreMemory.make
    const { askToAbort: _1, send: _2, ...store } = memory
    const below = Layer.merge(Layer.succeed(SessionStore.SessionStore, store), executor)
    const context = yield* Layer.build(CrashPoints.layer(below, () => {}))
    const { askToAbort, send } = Context.get(context, SessionStore.SessionStore)
    assert.deepStrictEqual([askToAbort, send], [undefined, undefined])
  }))

it.effect("each point knows how far the store has confirmed a session", () =>
  Effect.gen(function*() {
    const points = yield* passing(
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("other", [started({ seq: 1 })])
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* open("s")
          yield* session.append([started({ seq: 1 }), notice({ seq: 2 })])
          yield* session.append([completed({ seq: 3 })])
        }))
        yield* store.remove("s")
      }),
      (what, confirmed) => `${confirmed("s")} ${what}`
    )
    assert.deepStrictEqual(points.slice(4), [
      "0 before opening the session",
      "0 after opening the session",
      "0 before storing RunStarted, NoticeAdded",
      "2 after storing RunStarted, NoticeAdded",
      "2 before storing RunCompleted",
      "3 after storing RunCompleted",
      "3 before removing",
      "0 after removing"
    ])
  }))

it.each([
  ["nothing else", ["", ""]],
  ["words before and after it", ["Warning: loading...", "\nconfirmed or not\n"]]
])("the last words of a process are found with %s", (_, [before, after]) => {
  const died = { point: "3, after storing RunStarted", confirmed: 1 }
  assert.deepStrictEqual(CrashPoints.lastWordsIn(`${before}${CrashPoints.lastWords(died)}${after}`), died)
})

it("a process that was killed from elsewhere has no last words", () => {
  assert.isUndefined(CrashPoints.lastWordsIn("Out of memory\n"))
})
