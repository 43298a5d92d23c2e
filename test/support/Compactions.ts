/** Compactions in generated logs: more of them than sessions have, with the snapshots that they would have. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Snapshot from "../../src/run/log/Snapshot.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Draft from "./Drafts.ts"
import type * as Logs from "./Logs.ts"
import { dice, models } from "./Odd.ts"
import * as Parts from "./Parts.ts"
import * as Strategies from "./Strategies.ts"

type Compacted = Extract<RunEvent.Durable, { _tag: "ContextCompacted" }>

/** The log with more compactions in it, anywhere, even in the middle of turns. */
export const insert = (log: Logs.Log, seed: number, oddness: number): Logs.Log => {
  const die = dice(seed)
  const taste = { dice: die, oddness }
  const out: Array<RunEvent.Durable> = []
  const write = (event: RunEvent.Durable) => out.push({ ...event, seq: out.length + 1 })
  for (const event of log) {
    write(event)
    if (!die.chance(0.15)) continue
    const near = die.chance(0.5) ? Math.max(0, out.length - die.int(12)) : die.int(out.length + 2)
    const { at, runId, version } = event
    const compacted = {
      ...Draft.compacted(near, Parts.replacement(taste, `${near}`)),
      ...(die.chance(0.3) ? { memory: { text: Parts.text(taste, `memory ${near}`).text, data: { n: near } } } : {}),
      ...(die.chance(0.3) ? { pruned: die.int(out.length + 2) } : {})
    }
    write({ ...compacted, seq: 0, at, runId, version })
  }
  return out
}

/** The log with some of its texts and results at realistic lengths. */
export const lengthen = (log: Logs.Log, seed: number): Logs.Log => {
  const die = dice(seed)
  const long = (text: string) =>
    die.chance(0.5) ? text : `${text} ${die.pick(["and so on ", "=", "ünd "]).repeat(die.int(300))}`
  return log.map((event): RunEvent.Durable => {
    if (
      event._tag === "ToolSettled" && event.outcome._tag === "Succeeded" && typeof event.outcome.result === "string"
    ) {
      return { ...event, outcome: { ...event.outcome, result: long(event.outcome.result) } }
    }
    if (event._tag !== "AssistantMessage") return event
    const content = event.message.content.map((part) =>
      part.type === "text" ? { ...part, text: long(part.text) } : part
    )
    return { ...event, message: { ...event.message, content } }
  })
}

/** The log with compactions that strategies made from what was there. */
export const carryOut = Effect.fnUntraced(function*(log: Logs.Log, seed: number) {
  const die = dice(seed)
  const out: Array<RunEvent.Durable> = []
  let transcript = Transcript.empty
  const write = (event: RunEvent.Durable) => {
    const placed = { ...event, seq: out.length + 1 }
    out.push(placed)
    transcript = Transcript.append(transcript, placed)
  }
  for (const event of log) {
    write(event)
    if (!die.chance(0.15)) continue
    const strategy = yield* Strategies.any(die)
    const step = yield* Strategies.compact(strategy, transcript, out.length + 1, { force: "overflow" })
    if (step === undefined) continue
    const { memory, pruned, replacement, upTo } = step.change
    const { at, runId, version } = event
    write({
      ...Draft.compacted(upTo, replacement),
      ...(memory === undefined ? {} : { memory }),
      ...(pruned === undefined ? {} : { pruned }),
      seq: 0,
      at,
      runId,
      version
    })
  }
  return out
})

/** The log as it comes out of a store, each compaction with the snapshot that it would have been written with. */
export const withSnapshots = (log: Logs.Log): Logs.Log => {
  let state = RunState.empty
  let transcript = Transcript.empty
  return log.map((given) => {
    const snapshot = given._tag === "ContextCompacted" ? Snapshot.take(state, transcript, given.upTo) : undefined
    const event = snapshot === undefined ? given : { ...given, snapshot } as RunEvent.Durable
    state = RunState.evolve(state, event)
    transcript = Transcript.append(transcript, event)
    return JSON.parse(JSON.stringify(event)) as RunEvent.Durable
  })
}

const bytes = (transcript: Transcript.Transcript) =>
  JSON.stringify([undefined, ...models].map((reader) => Transcript.messages(transcript, reader)))

/** The states and messages at the compaction and after each later event, read from its snapshot. */
const fromSnapshot = (log: Logs.Log, compacted: Compacted) => {
  const start = Snapshot.startOf(compacted)!
  const started = log[start.startSeq - 1]!
  assert(started._tag === "RunStarted")
  let state = start.stateOf(started)
  let transcript = start.transcript
  for (const event of log.slice(start.from - 1, compacted.seq)) transcript = Transcript.append(transcript, event)
  const read = [{ state, messages: bytes(transcript) }]
  for (const event of log.slice(compacted.seq)) {
    state = RunState.evolve(state, event)
    transcript = Transcript.append(transcript, event)
    read.push({ state, messages: bytes(transcript) })
  }
  return read
}

const whole = (log: Logs.Log) => {
  let state = RunState.empty
  let transcript = Transcript.empty
  return log.map((event) => {
    state = RunState.evolve(state, event)
    transcript = Transcript.append(transcript, event)
    return { state, messages: bytes(transcript) }
  })
}

/** Reading `log` from any of its snapshots equals reading all of it. */
export const checkSame = (log: Logs.Log): void => {
  const read = whole(log)
  for (const event of log) {
    if (event._tag !== "ContextCompacted" || event.snapshot === undefined) continue
    assert.deepStrictEqual(fromSnapshot(log, event), read.slice(event.seq - 1))
  }
}
