/** Which deaths of a process count for a run whose call is worked on by other runs: those since one of these finished a turn. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as OpenCall from "../../src/run/state/OpenCall.ts"
import type * as Model from "../../src/services/Model.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

describe("a run whose sub-agent finishes a turn in every life of the process", () => {
  interface Lives {
    readonly plan: Family.Plan
    /** the id of the run that finishes a turn in each */
    readonly worker: string
    readonly takeUp: (
      agent: Family.Client,
      request: Parameters<Family.Client["run"]>[0]
    ) => Effect.Effect<unknown, unknown>
  }

  const found: Lives["takeUp"] = (agent) =>
    Effect.map(agent.recover(), ({ runs }) => assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["root"]))
  const asked: Lives["takeUp"] = (agent, request) => agent.start(request)
  const resumed: Lives["takeUp"] = (agent) => agent.resumeStart({ sessionId: "root" })
  /** somebody looks at the run before it goes on */
  const visited: Lives["takeUp"] = (agent, request) =>
    Effect.andThen(Effect.exit(agent.compact("root")), found(agent, request))

  const handler = ({ worker }: Lives): Family.Handler => (agent, plan, call) =>
    call.sessionId === worker ? Effect.succeed("done") : Family.run(agent, plan, call)

  /** A process takes up what the one before left, and dies after turn `life` of the worker. */
  const live = Effect.fnUntraced(function*(lives: Lives, store: TestStore.TestStore, life: number) {
    const [works, dies] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
    const answer = (request: Model.ModelRequest) => {
      const { runId, turn } = request.metadata
      if (runId !== lives.worker || turn < life) return Family.answer(request)
      return turn === life ? [ScriptedModel.gate(works), ...Family.answer(request)] : [ScriptedModel.gate(dies)]
    }
    const { agent } = yield* Family.make({ store, handler: handler(lives), answer })
    const request = { runId: "root", input: JSON.stringify(lives.plan) }
    yield* life === 1 ? agent.start(request) : lives.takeUp(agent, request)
    yield* works.started
    yield* TestClock.adjust("10 seconds")
    yield* works.release
    yield* dies.started
    yield* TestClock.adjust("10 seconds")
    return yield* Family.leftBy(store)
  })

  const turns: Family.Plan = { turns: Array.from({ length: 8 }, (_, n) => [{ input: n }]) }
  const one = { plan: { turns: [[turns]] }, worker: "root//1.0" }
  const two = { plan: { turns: [[{ turns: [[turns]] }]] }, worker: "root//1.0//1.0" }

  it.effect.each<readonly [what: string, lives: Lives]>([
    ["where it is found, at once", { ...one, takeUp: found }],
    ["where it is found, at once, with that sub-agent two calls deep", { ...two, takeUp: found }],
    ["where it is found, at once, after something else had written to its session", { ...one, takeUp: visited }],
    ["where its request is sent again", { ...one, takeUp: asked }],
    ["where it is resumed", { ...one, takeUp: resumed }]
  ])("goes on, however often that dies, %s", ([, lives]) =>
    Effect.gen(function*() {
      let store = yield* TestStore.make()
      for (let life = 1; life <= 8; life++) store = yield* live(lives, store, life)
      const { agent, logs } = yield* Family.make({ store, handler: handler(lives) })
      assert.deepInclude(yield* agent.resumeRun({ sessionId: "root" }), { _tag: "Completed", text: "done" })
      const found = yield* logs
      assert.deepStrictEqual(RunLog.outcomes(found.get("root")!), ["1.0 Succeeded"])
      assert.deepStrictEqual(Family.violations(found), [])
    }))
})

describe("a run that keeps dying in a call", () => {
  const key = OpenCall.idempotencyKey("s", "run-1", "1.0")
  const minute = 60_000

  /** Its process died in minute 10, 20 and so on, and was found a minute later, except for the last time. */
  const dying = (deaths: number, end: Drafts.Placed = DeadRun.crashed): ReadonlyArray<Drafts.Placed> => [
    { ...Drafts.started("go"), agent: "test/Tested" },
    ...DeadRun.inTools("again").slice(1),
    ...Array.from({ length: deaths - 1 }, (_, n) => [
      { ...end, at: (n + 1) * 10 * minute + minute },
      { ...Drafts.resumed(n + 2, { cause: "recovery" }), at: (n + 1) * 10 * minute + minute }
    ]).flat()
  ]

  /** What works for the call: it died and went on, and finished a turn in some minute. */
  const below = (
    at: number,
    { callId = "1.0", outcome = "done" as Parameters<typeof Drafts.settled>[1], isNew = false } = {}
  ) =>
    [
      { ...Drafts.started("go"), parent: { sessionId: "s", runId: "run-1", callId } },
      ...isNew ? [] : [DeadRun.crashed, Drafts.resumed(2, { cause: "recovery" })],
      ...DeadRun.inTools("again").slice(1),
      Drafts.settled("1.0", outcome),
      { ...Drafts.turnFinished(1), at: at * minute },
      Drafts.turnStarted(2)
    ].map((draft) => ({ ...draft, runId: key }))

  const left = Effect.fnUntraced(function*(
    log: ReadonlyArray<Drafts.Placed>,
    logBelow: ReadonlyArray<Drafts.Placed>
  ) {
    const store = yield* DeadRun.of(log)
    yield* DeadRun.write(store, key, logBelow)
    yield* TestClock.setTime(1000 * minute)
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
    const { runs } = yield* agent.recover()
    yield* Effect.forEach(runs, ({ result }) => result)
    return RunLog.endOf(yield* store.log("s"))
  })

  it.effect.each([[below(15), []], [below(25), ["1.1"]]] as const)(
    "has the reconciler asked about its other calls where it is aborted, as long as a run below gets on",
    ([logBelow, calls]) =>
      Effect.gen(function*() {
        const [started, ...rest] = dying(3)
        const begun = [started!, ...DeadRun.inTools("again", "work").slice(1), ...rest.slice(-4)]
        const store = yield* DeadRun.of(begun)
        yield* DeadRun.write(store, key, logBelow)
        yield* TestClock.setTime(1000 * minute)
        const { agent } = yield* TestAgent.make([], { store })
        const asked: Array<string> = []
        const reconcile = ({ idempotencyKey }: Reconciler.Question): Effect.Effect<Reconciler.Answer> =>
          Effect.sync(() => {
            asked.push(idempotencyKey)
            return { _tag: "Done" }
          })
        yield* Effect.provideService(agent.abort("s"), Reconciler.Reconciler, { reconcile })
        assert.includeMembers(asked, calls.map((call) => OpenCall.idempotencyKey("s", "run-1", call)))
        assert.strictEqual(asked.length > 0, calls.length > 0)
      })
  )

  it.effect("keeps the request to abort it where the store does not answer for the run below after that", () =>
    Effect.gen(function*() {
      const dead = yield* DeadRun.of(dying(3))
      yield* DeadRun.write(dead, key, below(25))
      const { read } = dead.service
      const isAsked = () => dead.appends.flat().some(({ _tag }) => _tag === "AbortRequested")
      const service: typeof dead.service = {
        ...dead.service,
        read: (id, range) =>
          Stream.suspend(() => id === key && isAsked() ? Stream.fail(TestStore.unavailable) : read(id, range))
      }
      const store = { ...dead, service, layer: Layer.succeed(SessionStore.SessionStore, service) }
      const { agent } = yield* TestAgent.make([], { store })
      assert.strictEqual((yield* Effect.flip(agent.abort("s"))).reason._tag, "StoreUnavailable")
      assert.strictEqual(RunLog.endOf(yield* dead.log("s")), "AbortRequested")
    }))

  /** The same run, two of whose calls wait for one run below. */
  const sharing = (deaths: number): ReadonlyArray<Drafts.Placed> => {
    const [started, ...rest] = dying(deaths)
    const run = { sessionId: key, runId: key }
    const paused = [Drafts.toolPaused("1.0", run), Drafts.toolPaused("1.1", run)]
    const calls = [...DeadRun.inTools("again", "again").slice(1), ...paused]
    return [started!, ...calls, ...rest.slice(DeadRun.inTools("again").length - 1)]
  }

  const goesOn = "RunCompleted(stop)"
  const ends = "RunLimited(crashLoop)"
  const away = Drafts.failed("StoreUnavailable")
  const shutDown = dying(9).map((draft) =>
    draft.at === 31 * minute && draft._tag === "RunAborted" ? { ...draft, reason: "shutdown" as const } : draft
  )

  it.effect.each<readonly [what: string, ReadonlyArray<Drafts.Placed>, ReadonlyArray<Drafts.Placed>, string]>([
    [
      "goes on after five deaths, since a run below the call finished a turn before the last",
      dying(5),
      below(45),
      goesOn
    ],
    ["goes on after five deaths that have their ends", dying(6).slice(0, -1), below(45), goesOn],
    ["goes on after five losses of its store", dying(6, away).slice(0, -1), below(45), goesOn],
    ["goes on, since a run below the call finished a turn after the first death", dying(5), below(15), goesOn],
    [
      "goes on, since a run that two calls wait for finished a turn, and the first began it",
      sharing(5),
      below(45),
      goesOn
    ],
    [
      "goes on, since a run that two calls wait for finished a turn, and the second began it",
      sharing(5),
      below(45, { callId: "1.1" }),
      goesOn
    ],
    ["ends once it has died five times since that turn", dying(6), below(15), ends],
    [
      "ends once it has died five times since that turn, even if it had died before a shutdown",
      shutDown,
      below(45),
      ends
    ],
    ["ends where its sub-agent dies each time before it finishes a turn", dying(5), below(45).slice(0, 3), ends],
    [
      "ends where the outcome of a call of that turn is unknown",
      dying(5),
      below(45, { outcome: { _tag: "OutcomeUnknown" } }),
      ends
    ],
    ["ends where each life begins a run of its own below the call", dying(5), below(45, { isNew: true }), ends],
    ["ends where the time of that turn is still to come", dying(5), below(2000), ends],
    ["ends where the run below works for another call", dying(5), below(45, { callId: "1.1" }), ends],
    [
      "ends where what is below cannot be read",
      dying(5),
      below(45).map((draft) => ({ ...draft, version: RunEvent.version + 1 })),
      ends
    ]
  ])("%s", ([, log, logBelow, end]) => Effect.map(left(log, logBelow), (found) => assert.strictEqual(found, end)))
})
