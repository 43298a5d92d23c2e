/** What a sweep of faults finds: of stores and agents that are wrong on purpose, each with the failure that names it. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionErrors from "../../src/layers/store/SessionErrors.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as StoreFaults from "../../src/testing/StoreFaults.ts"
import * as Appending from "../support/Appending.ts"

const till = Toolkit.make(Tool.make("pay", { success: Schema.String, dependencies: [ToolCall] }))

class Payer extends Agent.Service<Payer>()("test/Payer", { instructions: "Pay.", toolkit: till }) {}

class Clerk extends Agent.Service<Clerk>()("test/Clerk", { instructions: "Answer." }) {}

const runtime = Layer.merge(ContextWindow.layer, RunsLocal.layer)

/** A store that outlives its layer; what is wrong with it is made anew with each layer. */
const storeOf = (wrong: Appending.Changed) => {
  const memory = Effect.runSync(SessionStoreMemory.make)
  return Layer.sync(SessionStore.SessionStore, () => wrong(memory))
}

interface Odd {
  readonly play?: (sessionId: string) => NonNullable<CrashSweep.Options<Clerk, string, never>["play"]>
  /** what its model says; default: a text */
  readonly turn?: ScriptedModel.Turn
}

/** Says one thing: opens the session, and stores `RunStarted`, `TurnStarted` and the rest. */
const clerk =
  (wrong: Appending.Changed, { play, turn = ScriptedModel.text("done") }: Odd = {}): CrashSweep.Subjects[string] =>
  ({ sessionId }) =>
    CrashSweep.subject({
      agent: Clerk,
      layer: Layer.provide(Clerk.layer, [ScriptedModel.layer(() => turn), runtime]),
      store: storeOf(wrong),
      input: { input: "go", sessionId },
      ...(play === undefined ? {} : { play: play(sessionId) })
    })

const model = ScriptedModel.layer(({ messages }) =>
  messages.some(({ role }) => role === "tool") ? ScriptedModel.text("Paid.") : ScriptedModel.call("pay", {}, "pay")
)

/** Pays once, and notes it `times` times. */
const payer = (times: number): CrashSweep.Subjects[string] => ({ sessionId }) => {
  const keys: Array<string> = []
  const pay = Effect.map(ToolCall, ({ idempotencyKey }) => {
    for (let n = 0; n < times; n++) keys.push(idempotencyKey)
    return "paid"
  })
  return CrashSweep.subject({
    agent: Payer,
    layer: Layer.provide(Payer.layer, [till.toLayer({ pay: () => pay }), model, runtime]),
    store: storeOf((store) => store),
    input: { input: "Pay what is due.", sessionId },
    effects: Effect.sync(() => keys.map((key) => ({ key, mayRepeat: false })))
  })
}

/** Does not know of its last append, and takes the same events again, as if they were others. */
const repeating = Appending.by((session) => {
  let known = session.head()
  return {
    head: () => known,
    append: ([first, ...rest]) =>
      Effect.suspend(() => {
        known = session.head()
        return session.append([
          { ...first, seq: known + 1 },
          ...rest.map((event, i) => ({ ...event, seq: known + 2 + i }))
        ])
      })
  }
})

/** A disk that is gone during an outage. */
const makeDisk = () => {
  let [isGone, wasGone] = [false, false]
  const begin = Effect.sync(() => {
    isGone = wasGone = true
    return Effect.sync(() => {
      isGone = false
    })
  })
  return { isGone: () => isGone, wasGone: () => wasGone, begin }
}
type Disk = ReturnType<typeof makeDisk>

const gone = SessionErrors.unavailable("The disk is gone.")

/** Fails while `isOut`, of which each store has its own. */
const failing = (make: () => () => boolean, error = gone): Appending.Changed => (store) => {
  const isOut = make()
  const unless = <A, R>(self: Effect.Effect<A, SessionStore.StoreError, R>) =>
    Effect.suspend(() => isOut() ? Effect.fail(error) : self)
  return {
    ...store,
    open: (sessionId, options) =>
      unless(
        Effect.map(store.open(sessionId, options), (session) => ({
          ...session,
          append: (events) => unless(session.append(events))
        }))
      )
  }
}

/** As it should be. */
const sound = (disk: Disk) => failing(() => disk.isGone)

const ofOpened = (disk: Disk) =>
  failing(() => {
    const isNew = disk.isGone()
    return () => !isNew && disk.isGone()
  })

const ofNew = (disk: Disk) =>
  failing(() => {
    const isNew = disk.isGone()
    return () => isNew && disk.isGone()
  })

/** Stays out of order once it was. */
const spoilt = (disk: Disk) =>
  failing(() => {
    let isSpoilt = false
    return () => isSpoilt ||= disk.isGone()
  })

const stopped = "The run stopped at the same call with the same result again and again (search, 4 times)"
const taken = "a message was taken by a store that is out of order"
const odd = new RunError.NonRetryableError({ _tag: "Unknown", message: "The disk is odd." }) as never

/** Without the ids before a call's, and how far a run came. */
const shorter = (what: string) => what.replace(/\S*\/1\.0/, "1.0").replace(/, after .*/, "")

/** What the sweep of one subject finds, and where; each once. */
const found = (subject: CrashSweep.Subjects[string], options: Omit<FaultSweep.Sweep, "subjects">) =>
  Effect.map(
    FaultSweep.sweep({ subjects: { wrong: subject }, ...options }),
    ({ failures }) => [...new Set(failures.map(({ point, what }) => `${point}: ${shorter(what)}`))]
  )

describe("a sweep of faults finds", () => {
  it.live.each<
    readonly [string, CrashSweep.Subjects[string], Omit<FaultSweep.Sweep, "subjects">, ...ReadonlyArray<string>]
  >([
    [
      "an event that was confirmed and is lost",
      clerk(Appending.forgetful),
      { faults: ["down"], every: 3 },
      "4, storing AssistantMessage, TurnFinished, RunCompleted: event 2 (TurnStarted) is not as it was stored"
    ],
    [
      "events that are stored twice after an answer was lost",
      clerk(repeating),
      { faults: ["answerLost"], every: 2 },
      "3, storing TurnStarted: event 3 (RunFailed) is not as it was stored"
    ],
    [
      "a call that is carried out twice",
      payer(2),
      { faults: ["fails"], every: 1000 },
      "1, opening the session: 1.0 was done 2 times"
    ],
    [
      "a run that ends without a typed error",
      clerk((store) => store, {
        play: (sessionId) => (client) => Effect.orDie(client.run({ input: "go", sessionId }))
      }),
      { faults: ["fails"], every: 1000 },
      `1, opening the session: the run ended without a typed error: ${StoreFaults.unavailable.message}`
    ],
    [
      "a session that does not go on",
      clerk((store) => store, { turn: ScriptedModel.call("search", {}) }),
      { faults: ["fails"], every: 1000 },
      `1, opening the session: the agent does not answer "hello": ${stopped}`,
      `1, opening the session: the agent on a new store does not answer "hello": ${stopped}`
    ]
  ])("%s", ([, subject, options, ...whats]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* found(subject, options), whats)
    }))
})

describe("of an outage, a sweep", () => {
  /** `every`: which operations the outage begins at; of 1000, at the first, which opens the session. */
  const during = (make: (disk: Disk) => Appending.Changed, outage: Partial<FaultSweep.Outage>, every = 1) => {
    const disk = makeDisk()
    return found(clerk(make(disk)), {
      faults: [],
      outages: () => [{ name: "the disk is gone", begin: disk.begin, ...outage }],
      every
    })
  }

  it.live.each<readonly [string, (disk: Disk) => Appending.Changed, Partial<FaultSweep.Outage>]>([
    ["that all stores refuse messages in", sound, { refuses: ["open", "new"], reason: "StoreUnavailable" }],
    ["that only a store which was open refuses messages in", ofOpened, { refuses: ["open"] }],
    ["that only a new store refuses messages in", ofNew, { refuses: ["new"] }],
    ["after which a store must be opened anew", spoilt, { needsRestart: true }]
  ])("%s, reports nothing if that holds", ([, make, outage]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* during(make, outage), [])
    }))

  it.live.each<readonly [string, (disk: Disk) => Appending.Changed, Partial<FaultSweep.Outage>, string]>([
    ["takes a message in the store that was open", ofNew, { refuses: ["open"] }, taken],
    ["takes a message in a new store", ofOpened, { refuses: ["new"] }, taken],
    [
      "fails for another reason",
      sound,
      { reason: "StoreRefused" },
      "the run ended with StoreUnavailable, not StoreRefused: The disk is gone."
    ],
    [
      "refuses a message for another reason",
      ofNew,
      { refuses: ["new"], reason: "StoreRefused" },
      "the run ended with StoreUnavailable, not StoreRefused: The disk is gone."
    ],
    [
      "fails for no reason that a store has",
      (disk) => failing(() => disk.isGone, odd),
      {},
      "the run ended with an error that is not of the store: The disk is odd."
    ],
    ["is out of order afterwards", spoilt, {}, "the agent does not answer \"hello\": The disk is gone."],
    [
      "is out of order afterwards where it is new",
      (disk) =>
        failing(() => {
          const isNew = disk.wasGone()
          return () => isNew
        }),
      {},
      "the agent on a new store does not answer \"hello\": The disk is gone."
    ]
  ])("finds a store that %s", ([, make, outage, what]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* during(make, outage, 1000), [`1, opening the session: ${what}`])
    }))

  it.live("which is said to pass, finds a run without an end, unless it was the end that was not taken", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* during(sound, { passes: true }), [
        "3, storing TurnStarted: the last drive has no end"
      ])
    }))
})

it.live("a sweep that tries some operations tries others with each outage", () =>
  Effect.gen(function*() {
    const outage = { begin: Effect.succeed(Effect.void), refuses: ["open"] } as const
    const { failures } = yield* FaultSweep.sweep({
      subjects: { clerk: clerk((store) => store) },
      faults: [],
      outages: () => [{ ...outage, name: "first" }, { ...outage, name: "second" }],
      every: 2
    })
    assert.deepStrictEqual(failures.map(({ fault, point }) => `${fault} ${point}`), [
      "first 1, opening the session",
      "first 3, storing TurnStarted",
      "first 5, giving the session back",
      "second 2, storing RunStarted",
      "second 4, storing AssistantMessage, TurnFinished, RunCompleted"
    ])
  }))
