/**
 * Programs of random operations against an agent in which everything may go wrong (`Mishaps`), over a store that may
 * fail: runs are started, read, left, steered, aborted, resumed, decided, compacted and forked, processes die, and time
 * passes or is set back.
 *
 * Does not own what a log must be (`LogRules`, `LogSums`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as Run from "../../src/Run.ts"
import type * as Delivery from "../../src/run/Delivery.ts"
import type * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Mishaps from "./Mishaps.ts"
import * as Odd from "./Odd.ts"
import * as RunLog from "./RunLog.ts"
import type * as TestAgent from "./TestAgent.ts"
import * as TestStore from "./TestStore.ts"

interface World extends Pick<TestAgent.TestAgent, "agent" | "close"> {
  readonly die: Odd.Dice
  readonly store: TestStore.TestStore
  /** what was seen that must not be */
  readonly problems: Array<string>
  /** how often calls of `work` ran, by idempotency key */
  readonly ran: Map<string, number>
  /** what was begun, by name */
  readonly fibers: Array<readonly [name: string, fiber: Fiber.Fiber<unknown, unknown>]>
  readonly runs: Array<Run.Run<string>>
  readonly sessions: Array<string>
  readonly told: Array<readonly [sessionId: string, words: string, told: Delivery.Delivery]>
  isDown: boolean
}

const nothing = Effect.succeed("nothing")

/** An agent as a new process has it. */
const open = (world: Omit<World, "agent" | "close">): Effect.Effect<World, never, Scope.Scope> =>
  Effect.map(
    Mishaps.make(world.die, world.store, ({ callId, idempotencyKey, sessionId }) =>
      Effect.map(world.store.log(sessionId), (log) => {
        const intent = RunLog.only(log, "ToolStarted").findLast((event) =>
          event.callId === callId
        )
        if (intent === undefined) world.problems.push(`${idempotencyKey} runs without an intent`)
        if (intent?.tool === "work") world.ran.set(idempotencyKey, (world.ran.get(idempotencyKey) ?? 0) + 1)
      })),
    ({ agent, close }) =>
      Object.assign(world, { agent, close })
  )

const follow = (world: World, name: string, self: Effect.Effect<unknown, RunError.RunError>): Effect.Effect<void> =>
  Effect.map(
    Effect.forkDetach(self, { startImmediately: world.die.chance(0.5) }),
    (fiber) => void world.fibers.push([name, fiber])
  )

/** Follows what a reader sees: facts are stored before they are seen, once, in order, and an end is last. */
const watched = ({ problems, store }: World, where: string) => {
  let last = 0
  let isOver = false
  return <E>(events: Stream.Stream<RunEvent.RunEvent, E>, sessionId: string) =>
    Stream.tap(events, (event) =>
      Effect.sync(() => {
        if (isOver) problems.push(`${where}: ${event._tag} after an end`)
        if (!RunEvent.isDurable(event)) return
        if (last > 0 && event.seq !== last + 1) {
          problems.push(`${where}: ${event._tag} ${event.seq} after ${last}`)
        }
        if (event.seq > store.head(sessionId)) problems.push(`${where}: ${event._tag} is not stored`)
        last = event.seq
        isOver = RunEvent.isEnd(event)
      }))
}

/** Aborts a session's run; a run that was its last, and had something in the log, is then over. */
const stop = Effect.fnUntraced(function*({ agent, problems, store }: World, sessionId: string) {
  const live = yield* agent.liveIn(sessionId)
  const before = yield* store.log(sessionId)
  const { runId } = before.findLast(({ _tag }) => _tag === "RunStarted") ?? {}
  const begun = before.findLast(({ _tag }) => _tag === "RunStarted" || _tag === "RunResumed")?.seq ?? 0
  yield* agent.abort(sessionId)
  // a run that had begun by then, but had nothing in the log, may have left nothing
  if (live !== undefined && live.runId !== runId) return
  const ends = (yield* store.log(sessionId)).slice(begun).filter(RunEvent.isEnd)
  if (!ends.some((end) => end.runId === runId && RunEvent.isOver(end))) {
    problems.push(`${runId} is not over after an abort`)
  }
})

/** Does one thing, the `at`-th, and returns its name. */
const operate = Effect.fnUntraced(function*(world: World, at: number): Effect.fn.Return<string, never, Scope.Scope> {
  const { agent, die, runs, sessions, store } = world
  const sessionId = die.pick(sessions)
  const go = (name: string, self: Effect.Effect<unknown, RunError.RunError>) =>
    Effect.as(follow(world, `${at} ${name}`, self), name)
  const input = () => ({ sessionId, input: `message ${at}`, ...(die.chance(0.1) ? { runId: "same" } : {}) })
  const see = watched(world, `${at}`)
  const operations: ReadonlyArray<() => Effect.Effect<string, never, Scope.Scope>> = [
    () =>
      go(
        "start",
        Effect.flatMap(agent.start(input()), (run) => {
          runs.push(run)
          return Effect.andThen(Stream.runDrain(see(run.events, sessionId)), run.result)
        })
      ),
    () => go("run", agent.run(input())),
    () => go("stream", Stream.runDrain(see(agent.stream(input()), sessionId))),
    () => go("leave", Stream.runDrain(Stream.take(see(agent.stream(input()), sessionId), 1 + die.int(12)))),
    () => go("resume", Stream.runDrain(see(agent.resume({ sessionId }), sessionId))),
    () => go("resume", Stream.runDrain(see(agent.resume({ sessionId, limits: { maxTurns: 30 } }), sessionId))),
    () => go("compact", agent.compact(sessionId)),
    () =>
      go(
        "decide",
        Effect.flatMap(agent.approvals(sessionId), (approvals) =>
          approvals.length === 0 ? Effect.void : agent.decide({
            sessionId,
            approvalId: die.pick(approvals).id,
            approved: die.chance(0.7),
            ...(die.chance(0.4) ? { params: die.pick<Schema.Json>([{ n: 5 }, { wrong: 1 }]) } : {})
          }))
      ),
    () => {
      const run = runs.at(-1)
      return run === undefined ? nothing : go("abort", run.abort)
    },
    () => go("stop", stop(world, sessionId)),
    () => {
      const run = runs.at(-1)
      const say = die.chance(0.5) ? "steer" : "followUp"
      return run === undefined
        ? nothing
        : go(
          say,
          Effect.map(run[say](`said ${at}.`), (told) => void world.told.push([run.sessionId, `said ${at}.`, told]))
        )
    },
    () =>
      go(
        "fork",
        Effect.gen(function*() {
          if (sessions.length > 2) return
          const log = yield* store.log(sessionId)
          const places = log.filter((event) => event._tag === "TurnFinished" || RunEvent.isEnd(event))
          const place = die.pick(places)
          yield* store.service.fork(sessionId, { to: `f${at}`, ...(die.chance(0.5) && place ? { at: place.seq } : {}) })
          sessions.push(`f${at}`)
        })
      ),
    () => Effect.as(TestClock.adjust(die.pick(["1 milli", "2 seconds", "40 seconds", "10 minutes"])), "wait"),
    () => Effect.as(TestClock.adjust(die.pick(["1 milli", "2 seconds", "40 seconds", "10 minutes"])), "wait"),
    () =>
      die.chance(0.3) ? nothing : Effect.gen(function*() {
        // probably in the middle of something
        yield* go("run", agent.run(input()))
        yield* TestClock.adjust("1 second")
        world.isDown = true
        yield* go("crash", world.close)
        yield* Effect.repeat(TestClock.adjust("1 minute"), { times: 3 })
        world.isDown = false
        yield* open(world)
        return die.chance(0.3)
          ? "crash"
          : yield* go("crash and resume", Stream.runDrain(world.agent.resume({ sessionId })))
      }),
    () => Effect.as(Effect.repeat(Effect.yieldNow, { times: die.int(30) }), "yield"),
    () =>
      Effect.as(
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          TestClock.setTime(Math.max(0, now - die.pick([1, 5_000, 3_600_000])))),
        "back"
      )
  ]
  const [start, , , , , , , , abort, , say] = operations
  return yield* die.pick([...operations, start!, start!, abort!, say!, say!, say!])()
})

/** Lets as much time pass as anything may take. */
const pass = Effect.repeat(TestClock.adjust("11 minutes"), { times: 60 })

/** Plays a program until everything has ended: its runs are aborted or not, and its process closes. */
export const play = Effect.fnUntraced(function*(seed: number) {
  const die = Odd.dice(seed)
  const store = yield* TestStore.make()
  const world = yield* open({
    die,
    store,
    problems: [],
    ran: new Map(),
    fibers: [],
    runs: [],
    sessions: ["s"],
    told: [],
    isDown: false
  })
  const faults = die.chance(0.3) ? 0.1 : 0
  store.onAppend = (append) => {
    if (world.isDown) return Effect.fail(TestStore.unavailable)
    return die.chance(faults) ? die.pick([TestStore.failing, TestStore.lying])(() => true)(append) : append.store
  }
  const done: Array<string> = []
  for (let at = 1; at <= 20; at++) done.push(yield* operate(world, at))
  yield* pass
  if (die.chance(0.5)) {
    for (const run of world.runs) yield* follow(world, "the last abort", run.abort)
    yield* pass
  }
  yield* follow(world, "closing", world.close)
  yield* pass
  store.onAppend = ({ store }) => store
  return { ...world, done }
})
