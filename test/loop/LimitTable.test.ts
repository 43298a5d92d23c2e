/**
 * Guarantee 7, limits hold: every limit against every way to reach it, with the model requests made and the tools run.
 *
 * A row's model never ends by itself: it uses up one unit of what is limited with each of its turns.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import type * as Model from "../../src/services/Model.ts"
import * as Prices from "../../src/services/Prices.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Shrinking from "../support/Shrinking.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** Model requests made and tools begun. */
type Work = readonly [requests: number, ran: number]

interface Row {
  readonly limit: keyof RunPolicy.Limits
  readonly reason: RunEvent.LimitedReason
  /** the limit that allows this many units */
  readonly of: (units: number) => number
  /** what uses up one unit; default: one call of a tool */
  readonly unit?: (n: number) => ScriptedModel.Turn
  readonly tool?: TestAgent.Handler
  /** each model call takes a second */
  readonly isSlow?: boolean
  /** at a limit of 0; `undefined` when that is an argument error */
  readonly none: Work | undefined
  /** at a limit of one unit, and of two */
  readonly one: Work
  readonly two: Work
  /** at a limit of one unit, resumed with one of three: all drives together */
  readonly resumed: Work
  /** units before an answer that comes exactly at a limit of two */
  readonly exact: number
  /** at a limit of one unit, when the model calls five tools at once, two in parallel */
  readonly batch: Work
}

const look = (n: number) => TestAgent.look(n)
const overflow = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "ContextOverflow", message: "too long" })
)
/** Time passes when something sleeps: the sleeper says so, and the test moves the clock. */
const makeTime = Effect.map(Queue.unbounded<void>(), (sleepers) => ({
  second: Effect.gen(function*() {
    const slept = yield* Effect.forkChild(Effect.sleep("1 second"), { startImmediately: true })
    yield* Queue.offer(sleepers, undefined)
    yield* Fiber.join(slept)
  }),
  pass: Effect.forever(Effect.andThen(Queue.take(sleepers), TestClock.adjust("1 second")))
}))

const rows: ReadonlyArray<Row> = [
  {
    limit: "maxTurns",
    reason: "turns",
    of: (units) => units,
    none: undefined,
    one: [1, 0],
    two: [2, 1],
    resumed: [3, 1],
    exact: 1,
    batch: [1, 0]
  },
  {
    limit: "maxToolRounds",
    reason: "toolRounds",
    of: (units) => units,
    none: [1, 0],
    one: [2, 1],
    two: [3, 2],
    resumed: [5, 3],
    exact: 2,
    batch: [2, 5]
  },
  {
    limit: "maxToolCalls",
    reason: "toolCalls",
    of: (units) => units,
    none: [1, 0],
    one: [2, 1],
    two: [3, 2],
    resumed: [5, 3],
    exact: 2,
    batch: [1, 1]
  },
  {
    limit: "maxErrors",
    reason: "errors",
    of: (units) => units,
    tool: () => Effect.fail("no"),
    none: [1, 1],
    one: [2, 2],
    two: [3, 3],
    resumed: [4, 4],
    exact: 2,
    batch: [1, 2]
  },
  {
    limit: "maxCompactions",
    reason: "compactions",
    of: (units) => units,
    unit: () => overflow,
    none: [1, 0],
    one: [2, 0],
    two: [3, 0],
    resumed: [5, 0],
    exact: 2,
    batch: [2, 0]
  },
  {
    limit: "maxTokens",
    reason: "tokens",
    of: (units) => units * 15,
    none: undefined,
    one: [1, 0],
    two: [2, 1],
    resumed: [3, 1],
    exact: 1,
    batch: [1, 0]
  },
  {
    limit: "maxCost",
    reason: "cost",
    of: (units) => units * 0.1,
    none: undefined,
    one: [1, 0],
    two: [2, 1],
    resumed: [3, 1],
    exact: 1,
    batch: [1, 0]
  },
  {
    limit: "maxDuration",
    reason: "duration",
    // whatever is running when time is up is cut off, so an answer has to come before that
    of: (units) => units * 1001,
    isSlow: true,
    none: undefined,
    one: [2, 1],
    two: [3, 2],
    resumed: [5, 3],
    exact: 1,
    batch: [1, 2]
  }
]

const prices = Prices.table({ "scripted/scripted": { input: 5000, output: 10_000 } })

const lastText = ({ messages }: Model.ModelRequest): string => {
  const part = messages.at(-1)!.content.at(-1)
  return typeof part === "object" && part.type === "text" ? part.text : ""
}

/** The row's agent, whose model answers after this many units, and at once to "again". */
const make = Effect.fnUntraced(function*(
  row: Row,
  options: {
    readonly answersAfter?: number
    readonly store?: TestStore.TestStore
    readonly unit?: (n: number) => ScriptedModel.Turn
    /** tools do not end, and the second one of a message takes a second */
    readonly hangs?: boolean
  } = {}
) {
  const { answersAfter = Infinity, unit = row.unit ?? look } = options
  let [requests, ran] = [0, 0]
  const time = yield* makeTime
  const second = ScriptedModel.gate({
    started: Effect.void,
    release: Effect.void,
    closed: Effect.void,
    close: Effect.void,
    wait: time.second
  })
  const { agent, store } = yield* TestAgent.make((request) => {
    requests++
    const isAnswer = lastText(request) === "again" || requests > answersAfter
    const turn = isAnswer ? [ScriptedModel.text("ok")] : [unit(requests)].flat()
    return row.isSlow === true ? [second, ...turn] : turn
  }, {
    context: Shrinking.layer(),
    tool: (params) =>
      Effect.suspend(() => {
        ran++
        if (options.hangs === true) {
          return params.n % 10 === 1
            ? Effect.andThen(time.second, Effect.never)
            : Effect.never
        }
        return row.tool?.(params) ?? Effect.succeed(`done ${ran}`)
      }),
    agent: { toolPolicy: { maxParallel: 2 } },
    ...(options.store === undefined ? {} : { store: options.store })
  })
  /** To its end, in virtual time. */
  const play = <A, E>(self: Effect.Effect<A, E>) =>
    Effect.gen(function*() {
      const clock = yield* Effect.forkChild(time.pass)
      const exit = yield* Effect.exit(Effect.provideService(self, Prices.Prices, prices))
      yield* Fiber.interrupt(clock)
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      return { exit, log, end: RunLog.endOf(log) }
    })
  const limits = (value: number): RunPolicy.LimitsInput => ({ [row.limit]: value })
  return {
    store,
    work: (): Work => [requests, ran],
    run: (limit: number, input = "go") =>
      play(Effect.flatMap(store.log("s"), (log) =>
        agent.run({
          sessionId: "s",
          input,
          limits: limits(limit),
          ...(log.length === 0 && row.limit === "maxCompactions" ? { history: Shrinking.history(40) } : {})
        }))),
    resume: (limit?: number) =>
      play(Stream.runDrain(agent.resume({
        sessionId: "s",
        ...(limit === undefined ? {} : { limits: limits(limit) })
      })))
  }
})

const totalsOf = (log: ReadonlyArray<RunEvent.Durable>) => RunLog.only(log, "RunLimited").at(-1)!.totals

describe.each(rows)("$limit", (row) => {
  const limited = `RunLimited(${row.reason})`

  it.effect(`of 0 ${row.none === undefined ? "is refused" : "allows none"}`, () =>
    Effect.gen(function*() {
      const { run, work } = yield* make(row)
      const { end, exit, log } = yield* run(0)
      if (row.none !== undefined) {
        assert.strictEqual(end, limited)
        assert.deepStrictEqual(work(), row.none)
        return
      }
      assert(Exit.isFailure(exit))
      const error = Cause.squash(exit.cause)
      assert(error instanceof RunError.NonRetryableError && error.reason._tag === "InvalidInput")
      assert.strictEqual(error.reason.field, `limits.${row.limit}`)
      assert.deepStrictEqual([log.length, work()], [0, [0, 0]])
    }))

  it.effect("that is not a valid limit is refused, and Infinity is no limit", () =>
    Effect.gen(function*() {
      const { run, work } = yield* make(row, { answersAfter: 4 })
      const fraction = row.limit === "maxCost" || row.limit === "maxDuration" ? [] : [1.5]
      for (const value of [NaN, -1, -Infinity, ...fraction]) {
        const { exit } = yield* run(value)
        assert.isTrue(Exit.isFailure(exit), `${value}`)
      }
      assert.deepStrictEqual(work(), [0, 0])
      assert.strictEqual((yield* run(Infinity)).end, "RunCompleted(stop)")
    }))

  it.effect.each([[1, row.one], [2, row.two]] as const)(
    "of %i ends the run there",
    ([units, expected]) =>
      Effect.gen(function*() {
        const { run, work } = yield* make(row)
        assert.strictEqual((yield* run(row.of(units))).end, limited)
        assert.deepStrictEqual(work(), expected)
      })
  )

  it.effect("does not end a run that is done exactly there", () =>
    Effect.gen(function*() {
      const { run, work } = yield* make(row, { answersAfter: row.exact })
      assert.strictEqual((yield* run(row.of(2))).end, "RunCompleted(stop)")
      assert.strictEqual(work()[0], row.exact + 1)
    }))

  it.effect("holds inside a message of several calls", () =>
    Effect.gen(function*() {
      const calls = Array.from({ length: 5 }, (_, i) => (n: number) => TestAgent.look(n * 10 + i, `call-${i}`))
      const unit = row.limit === "maxCompactions"
        ? () => overflow
        : (n: number) => calls.map((call) => call(n))
      const { run, work } = yield* make(row, { unit, hangs: row.isSlow === true })
      assert.strictEqual((yield* run(row.of(1))).end, limited)
      assert.deepStrictEqual(work(), row.batch)
    }))

  it.effect("ends a run again at once when it is resumed with no new limits", () =>
    Effect.gen(function*() {
      const { resume, run, work } = yield* make(row)
      const { log } = yield* run(row.of(1))
      const before = work()
      const after = yield* resume()
      assert.strictEqual(after.end, limited)
      assert.deepStrictEqual(work(), before)
      assert.deepStrictEqual(RunLog.tags(after.log.slice(log.length)), ["RunResumed", "RunLimited"])
      const { duration: _1, ...totals } = totalsOf(log)
      const { duration: _2, ...again } = totalsOf(after.log)
      assert.deepStrictEqual(again, totals)
    }))

  it.effect("lets a run resumed with more continue, and counts on", () =>
    Effect.gen(function*() {
      const { resume, run, work } = yield* make(row)
      yield* run(row.of(1))
      assert.strictEqual((yield* resume(row.of(3))).end, limited)
      assert.deepStrictEqual(work(), row.resumed)
    }))

  it.effect("does not hold a new message back", () =>
    Effect.gen(function*() {
      const { run } = yield* make(row)
      yield* run(row.of(1))
      assert.strictEqual((yield* run(row.of(1), "again")).end, "RunCompleted(stop)")
    }))

  it.effect("counts nothing twice and forgets nothing over a crash after any write", () =>
    Effect.gen(function*() {
      const whole = yield* make(row)
      const { log } = yield* whole.run(row.of(2))
      for (let kept = 1; kept < whole.store.appends.length; kept++) {
        const store = yield* TestStore.make()
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* store.service.open("s", { runId: "run", create: true })
          for (const events of whole.store.appends.slice(0, kept)) yield* session.append(events)
        }))
        const { resume } = yield* make(row, { store })
        const after = yield* resume()
        assert.strictEqual(after.end, limited, `after ${kept} writes`)
        const [totals, expected] = [totalsOf(after.log), totalsOf(log)]
        // if a drive died between a refusal and what follows from it, the next drive is refused once more
        const errors = row.limit === "maxCompactions" ? totals.errors : expected.errors
        assert.deepStrictEqual(totals, { ...expected, errors }, `after ${kept} writes`)
      }
    }))
})
