/** Snapshots in a log from elsewhere: believed only if they are what the log makes. */
import { assert, describe, it } from "@effect/vitest"
import * as Snapshot from "../../../src/run/log/Snapshot.ts"
import * as SnapshotCheck from "../../../src/run/log/SnapshotCheck.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Compactions from "../../support/Compactions.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Logs from "../../support/Logs.ts"

type Json = Record<string, unknown>

const log = Compactions.withSnapshots(Draft.log(
  Draft.started("go", { data: { n: 1 } }),
  Draft.turnStarted(1),
  Draft.assistant([Message.text("I ask."), Draft.call("work", { n: 1 })]),
  Draft.approvalRequested("1.0"),
  Draft.suspended,
  Draft.compacted(1, [Message.user("summary")]),
  Draft.approvalResolved("1.0")
))
const at = log.findIndex(({ _tag }) => _tag === "ContextCompacted")

/** The log, its snapshot changed in place. */
const changed = (change: (snapshot: Json) => void): Logs.Log => {
  const copy = structuredClone(log)
  change((copy[at] as unknown as { readonly snapshot: Json }).snapshot)
  return copy
}
const state = (change: (state: Json) => void) => changed((snapshot) => change(snapshot["state"] as Json))
const openCall = (change: (call: Json) => void) => state((_) => change((_["openCalls"] as ReadonlyArray<Json>)[0]!))

/** What reading the log from its first snapshot would keep at each later one. */
const takenFrom = (log: Logs.Log) => {
  const first = log.find((event) => event._tag === "ContextCompacted" && event.snapshot !== undefined)
  if (first?._tag !== "ContextCompacted") return []
  const start = Snapshot.startOf(first)!
  let { transcript } = start
  for (const event of log.slice(start.from - 1, first.seq)) transcript = Transcript.append(transcript, event)
  let state = start.stateOf(log[start.startSeq - 1] as Extract<RunEvent.Durable, { _tag: "RunStarted" }>)
  return log.slice(first.seq).map((event) => {
    const snapshot = event._tag === "ContextCompacted" ? Snapshot.take(state, transcript, event.upTo) : undefined
    state = RunState.evolve(state, event)
    transcript = Transcript.append(transcript, event)
    return (snapshot === undefined ? event : JSON.parse(JSON.stringify({ ...event, snapshot }))) as RunEvent.Durable
  })
}

describe("snapshots are what their log makes", () => {
  it("as they were taken", () => {
    assert.isUndefined(SnapshotCheck.firstWrong(log))
  })

  it.prop(
    "if they were taken by a reader that itself began at a snapshot",
    [Logs.odd, Logs.seed],
    ([{ log }, seed]) => {
      const whole = Compactions.withSnapshots(Compactions.insert(log, seed, 0.3))
      const rest = takenFrom(whole)
      assert.isUndefined(SnapshotCheck.firstWrong([...whole.slice(0, whole.length - rest.length), ...rest]))
    },
    { arbitrary: { runs: 200, size: 60, seed: "check" } }
  )

  it("if the keys are in another order", () => {
    const turned = state((state) => {
      for (const [key, value] of Object.entries(state).reverse()) {
        delete state[key]
        state[key] = value
      }
    })
    assert.isUndefined(SnapshotCheck.firstWrong(turned))
  })

  it("if this version would not read them", () => {
    const other = (change: Json) => changed((snapshot) => Object.assign(snapshot, { state: null, ...change }))
    assert.isUndefined(SnapshotCheck.firstWrong(other({ version: Snapshot.version + 1 })))
    assert.isUndefined(SnapshotCheck.firstWrong(other({ events: 0 })))
  })
})

describe("a snapshot that is not what its log makes is reported with the field", () => {
  const wrong: Record<string, readonly [Logs.Log, string]> = {
    "where that is of another type": [openCall((call) => call["phase"] = 7), "state.openCalls.0.phase"],
    "where that says something else": [openCall((call) => call["tool"] = "pay"), "state.openCalls.0.tool"],
    "where that is missing": [openCall((call) => delete call["callId"]), "state.openCalls.0.callId"],
    "where that is one too many": [openCall((call) => call["decision"] = { approved: true }), "state.openCalls.0"],
    "where a call stands there twice": [
      state((state) => state["openCalls"] = [...state["openCalls"] as [], ...state["openCalls"] as []]),
      "state.openCalls"
    ],
    "where a list is none": [state((state) => state["openCalls"] = { length: 1 }), "state.openCalls"],
    "where there is no state": [changed((snapshot) => snapshot["state"] = null), "state"],
    "where it begins elsewhere": [changed((snapshot) => snapshot["from"] = 2), "from"],
    "where a key is the name of a prototype": [
      state((state) => Object.defineProperty(state, "__proto__", { value: {}, enumerable: true })),
      "state"
    ],
    "where the run's data is another": [changed((snapshot) => snapshot["data"] = { n: 2 }), "data.n"]
  }
  for (const [what, [log, path]] of Object.entries(wrong)) {
    it(what, () => {
      assert.deepStrictEqual(SnapshotCheck.firstWrong(log), { seq: at + 1, path: `snapshot.${path}` })
    })
  }

  it("where no run has begun", () => {
    const before = [{ ...log[at]!, seq: 1 }, ...log]
    assert.deepStrictEqual(SnapshotCheck.firstWrong(before), { seq: 1, path: "snapshot" })
  })

  it("but without those parts of the field that are not plain words", () => {
    const secret = Compactions.withSnapshots(Draft.log(
      Draft.started("go", { data: { "a secret\u001b": 1 } }),
      Draft.compacted(0, [Message.user("summary")])
    ))
    const other = structuredClone(secret)
    const [, compacted] = other as unknown as ReadonlyArray<{ readonly snapshot: { data: Json } }>
    compacted!.snapshot.data = { "a secret\u001b": 2 }
    assert.strictEqual(SnapshotCheck.firstWrong(other)?.path, "snapshot.data")
  })
})
