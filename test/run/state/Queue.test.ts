import { assert, it } from "@effect/vitest"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Queue from "../../../src/run/state/Queue.ts"
import * as Drafts from "../../support/Drafts.ts"

const said = (kind: "steer" | "followUp", text: string): RunEvent.Draft => ({
  _tag: "InputQueued",
  kind,
  messages: [Message.user(text)]
})

const shutDown = (kept?: ReadonlyArray<number>): RunEvent.Draft => ({
  ...Drafts.aborted,
  reason: "shutdown",
  ...(kept === undefined ? {} : { kept })
})

/** `seq` of what waits after each of two inputs to a run, its end and its next drive. */
const after = (end: RunEvent.Draft): ReadonlyArray<number> => {
  const begun = [Drafts.started("a"), Drafts.turnStarted(1), said("followUp", "and then"), said("steer", "stop")]
  const log = Drafts.log(...begun, end, Drafts.resumed(2))
  return log.reduce(Queue.evolve, [] as Queue.Queue).map(({ seq }) => seq)
}

it("a shutdown keeps exactly what it names, in the order of acceptance", () => {
  assert.deepStrictEqual(after(shutDown([4, 3])), [3, 4])
  assert.deepStrictEqual(after(shutDown([3])), [3])
  assert.deepStrictEqual(after(shutDown([])), [])
  assert.deepStrictEqual(after(shutDown([3, 9])), [3])
})

it("a shutdown that names nothing, as those of earlier versions, keeps nothing", () => {
  assert.deepStrictEqual(after(shutDown()), [])
})

it("an abort after a shutdown gives up what that kept", () => {
  const log = Drafts.log(
    Drafts.started("a"),
    said("steer", "stop"),
    shutDown([2]),
    Drafts.resumed(2),
    { _tag: "AbortRequested", reason: "requested" },
    Drafts.aborted
  )
  assert.deepStrictEqual(log.reduce(Queue.evolve, [] as Queue.Queue), [])
})

it("the queue equals that of the run's state after every event of a session", () => {
  const log = Drafts.log(
    Drafts.started("a"),
    Drafts.turnStarted(1),
    said("followUp", "and then"),
    said("steer", "stop"),
    { ...Drafts.input("stop"), kind: "steer", queued: 4 } as RunEvent.Draft,
    { ...Drafts.turnFinished(1), decision: { _tag: "Continue", reason: "followUp" } },
    { ...Drafts.aborted, reason: "crashed" },
    Drafts.resumed(2),
    said("steer", "go on"),
    Drafts.aborted,
    said("steer", "too late"),
    { ...Drafts.started("b"), runId: "run-2" },
    said("steer", "wait"),
    said("followUp", "or not"),
    shutDown([13]),
    { ...Drafts.started("c"), runId: "run-3" }
  )
  let queue: Queue.Queue = []
  let state = RunState.empty
  const held: Array<number> = []
  for (const event of log) {
    queue = Queue.evolve(queue, event)
    state = RunState.evolve(state, event)
    assert.deepStrictEqual(queue, state.queued, `after ${event._tag} at ${event.seq}`)
    held.push(queue.length)
  }
  assert.deepStrictEqual(held, [0, 0, 1, 2, 1, 1, 1, 1, 2, 0, 1, 0, 1, 2, 1, 0])
})
