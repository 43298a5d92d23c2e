/**
 * Golden sessions mean forever what they meant when their version was released.
 *
 * A golden session MUST NEVER CHANGE: neither its lines (`session-v1.jsonl`, whose digest stands below) nor what they mean
 * (`session-v1.json`). If a test here fails, the code is wrong. A new type of event or outcome, or a new field of an event,
 * goes into an additional golden session.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunResult from "../../src/run/RunResult.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as SessionLines from "../../src/SessionLines.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as GoldenSession from "./GoldenSession.ts"

const stores: Record<string, Effect.Effect<SessionStore.Store, SessionStore.StoreError, Scope.Scope>> = {
  "memory": SessionStoreMemory.make,
  "SQLite": SessionStoreSqlite.make({ filename: ":memory:" })
}

const digests: Record<string, string> = {
  "session-v1": "c762f25a8cbf07242e7388c8db5482663e2efe3043a737bdbf005d8feed76f7c",
  "session-v1-steering": "027c925270770e5cbecb08175f0b8c43458433021552ce0843a667ea9afd7d27",
  "session-v1-compaction": "7902fbc990efb953072efca8694c10b5663ac93ccf15715d648bd7a171ccf814",
  "session-v1-answers": "f8081aba4dc7fc7f4a00ee35fcb72d64e336473b13ae980ec6650d6439a15212",
  "session-v1-team": "4be12c78899725ab0bd6e5b8d2ab0b35482cc2c6caf74e2bc81e09f17e38627b",
  "session-v1-paused": "d351891795967bb01a1cb8268fdc855d7a782fd0b3e050586a387a0ed20f069d",
  "session-v1-beside": "29ae5096ee752415c9e410891402aaa5d7b9821f8e389e277a1c278030721b94",
  "session-v1-marks": "c6636657cb9eed7545aa8d226445d36f6bba2a6786f571979c6cb5b0698d5619",
  "session-v1-by-hand": "68685721f4c818e3b23cbfb6a1938f3c16c0adf745719ee706cb7bbbd550fe72",
  "session-v1-cut-off": "df964a4834d5246f3db499efc162506aee9b322f4b6345917e6dbd795dc89fc2",
  "session-v1-goes-on": "4fc0f5d209aeb44a0e70e029536b44734e570099229670800495586e5e5cec05",
  "session-v1-lost": "9af8f70b8a7e2d6012ebde8ea6755945c4e5141e0546be2537620399af5e9515",
  "session-v1-kept": "e3dbabff93c1fc5bcfd26af0b357a82de47d936477c31e204d974ddeb63b1cc9",
  "session-v1-away": "fd4ee5de16ef11713c6ef8e3fd9b2028513c5ad5c286b0738b70970a2bdf5a56",
  "session-v1-elsewhere": "b4d4b5588a61604741cf4d50ec05fd1639947d4e4758b8b838f9fd982c37bf6d",
  "session-v1-shown": "1375daeb60ee273cfb30c6dd2c120154ec8ef5c3dce999deda273e9a7cf56b1a",
  "session-v1-told": "0314d37112f102f2fffcff6dff8813b13fecbbbb407ab23c0c4b932ae475f1e5",
  "session-v1-unfinished": "38bb036a5eb81d51f75ddbdf1f1ea0db0687025f18b62acd9dce8acb0769343f",
  "session-v1-suspended": "c5e11514e389e1973d086edd28a2573ee12ed0ca5062bb7b3164bcfab78e2f90",
  "session-v1-sources": "50b8a18d42774b182ef0a45b120d54199b8643e06698a4e9fc7fc45c5a92452f"
}

/** The model that gave most of the sessions' answers. */
const reader: Message.ModelRef = { provider: "scripted", name: "scripted" }

const logOf = ({ lines }: GoldenSession.GoldenSession) =>
  Effect.map(SessionLines.decode(Stream.fromIterable(lines)), ({ events }) => events)

const importInto = (store: SessionStore.Store, { lines }: GoldenSession.GoldenSession) =>
  Effect.provideService(SessionLines.fromLines(Stream.fromIterable(lines)), SessionStore.SessionStore, store)

const exportOf = (store: SessionStore.Store, sessionId: string) =>
  SessionLines.toLines(sessionId).pipe(
    Stream.runCollect,
    Effect.provideService(SessionStore.SessionStore, store),
    Effect.map((lines) => lines.map((line) => `${line}\n`).join(""))
  )

/** The state after each event, by `seq`. */
const statesOf = (log: ReadonlyArray<RunEvent.Durable>) => {
  let state = RunState.empty
  return new Map(log.map((event) => [event.seq, state = RunState.evolve(state, event)]))
}

/** What a run returns, without the sentence for a person, whose wording may change, and any further details of a question. */
const resultOf = (sessionId: string, state: RunState.RunState): object | undefined => {
  const { end } = state
  if (end === undefined) return undefined
  if (end._tag === "RunFailed") return { _tag: "Failed", error: end.error }
  const { explain: _, ...result } = RunResult.fromState(sessionId, state, end, (text) => text)
  if (result._tag !== "Suspended") return result
  return { ...result, approvals: result.approvals.map(({ id, params, tool }) => ({ id, tool, params })) }
}

/** The part of a state that never changes, however the rest is kept. */
const standingOf = (
  { drive, limits, openCalls, runId, seq, status, text, totals, turn }: RunState.RunState
) => ({
  seq,
  runId,
  status,
  drive,
  turn,
  openCalls: openCalls.map(({ callId, phase }) => `${callId} ${phase}`),
  text,
  limits,
  totals
})

const messagesOf = (log: ReadonlyArray<RunEvent.Durable>) => Transcript.messages(Transcript.fromLog(log), reader)

for (const golden of GoldenSession.all) {
  const { meaning, name, text, version, written } = golden

  describe(`the golden session ${name}`, () => {
    it("has not changed", () => {
      assert.strictEqual(createHash("sha256").update(text).digest("hex"), digests[name])
      assert.isTrue(written.every((event) => event.version === version))
    })

    it.effect("is read field by field, as a legal log", () =>
      Effect.gen(function*() {
        const log = yield* logOf(golden)
        if (version === RunEvent.version) assert.deepStrictEqual<unknown>(log, written)
        assert.deepStrictEqual(Approvals.violations(log), [])
      }))

    it.effect("ends its drives as before", () =>
      Effect.gen(function*() {
        const states = statesOf(yield* logOf(golden))
        const ends = Array.from(states).filter(([seq, state]) => state.end?.seq === seq)
        const results = Object.fromEntries(ends.map(([seq, state]) => [seq, resultOf(name, state)]))
        assert.deepStrictEqual<unknown>(results, meaning.results)
      }))

    it.effect("reaches the same states, also in the midst of its runs", () =>
      Effect.gen(function*() {
        const states = statesOf(yield* logOf(golden))
        const standing = Object.keys(meaning.states).map((seq) => [seq, standingOf(states.get(Number(seq))!)] as const)
        assert.deepStrictEqual<unknown>(Object.fromEntries(standing), meaning.states)
      }))

    if (meaning.waiting !== undefined) {
      it.effect("has the same inputs waiting", () =>
        Effect.gen(function*() {
          const states = statesOf(yield* logOf(golden))
          const waiting = Object.keys(meaning.waiting!).map((seq) =>
            [seq, states.get(Number(seq))!.queued.map((queued) => queued.seq)] as const
          )
          assert.deepStrictEqual(Object.fromEntries(waiting), meaning.waiting)
        }))
    }

    it.effect("sends a model the same messages", () =>
      Effect.gen(function*() {
        const log = yield* logOf(golden)
        for (const [seq, messages] of Object.entries(meaning.messages)) {
          const shown = messagesOf(log.slice(0, Number(seq)))
          assert.strictEqual(JSON.stringify(shown, undefined, 1), JSON.stringify(messages, undefined, 1))
        }
      }))

    for (const [where, make] of Object.entries(stores)) {
      if (version === RunEvent.version) {
        it.effect(`is exported from ${where} as the same bytes`, () =>
          Effect.gen(function*() {
            const store = yield* make
            const { sessionId } = yield* importInto(store, golden)
            assert.strictEqual(yield* exportOf(store, sessionId), text)
          }))
      }

      it.effect(`continues with an answer to a new message in ${where}`, () =>
        Effect.gen(function*() {
          const store = yield* make
          const { sessionId } = yield* importInto(store, golden)
          const { agent, script } = yield* TestAgent.make([ScriptedModel.text("hello!")], {
            store: TestStore.over(store)
          })
          const result = yield* agent.run({ sessionId, input: "hello" })
          assert.deepStrictEqual([result._tag, result.text], ["Completed", "hello!"])
          const [request] = yield* script.requests
          const before = Object.values(meaning.messages).at(-1)!
          const [, ...sent] = request!.messages
          assert.deepStrictEqual(sent, [...before, Message.user("hello")])
          assert.deepStrictEqual(Approvals.violations(yield* Stream.runCollect(store.read(sessionId))), [])
        }))
    }
  })
}

describe("the golden sessions", () => {
  const current = GoldenSession.all.filter((golden) => golden.version === RunEvent.version).flatMap((_) => _.written)
  interface Member {
    readonly fields: { readonly _tag: { readonly schema: { readonly literal: string } } }
  }
  const tagOf = (member: Member) => member.fields._tag.schema.literal
  const tagsOf = (members: ReadonlyArray<Member>) => members.map(tagOf)
  const missing = (all: ReadonlyArray<string>, found: ReadonlyArray<string>) =>
    all.filter((tag) => !found.includes(tag))

  it("of this version contain every type of durable event", () => {
    assert.deepStrictEqual(missing(tagsOf(RunEvent.Durable.members), current.map((event) => event._tag)), [])
  })

  it("of this version contain every field of a durable event", () => {
    const fields = RunEvent.Durable.members.flatMap((member) =>
      Object.keys(member.fields).map((field) => `${tagOf(member)}.${field}`)
    )
    const found = current.flatMap((event) => Object.keys(event).map((field) => `${event._tag}.${field}`))
    assert.deepStrictEqual(missing(fields, found), [])
  })

  it("of this version contain every outcome of a call, and every reason not to execute one", () => {
    const outcomes = RunLog.only(current, "ToolSettled").map((event) => event.outcome)
    assert.deepStrictEqual(missing(tagsOf(ToolOutcome.ToolOutcome.members), outcomes.map(({ _tag }) => _tag)), [])
    const reasons = outcomes.flatMap((outcome) => outcome._tag === "NotExecuted" ? [outcome.reason] : [])
    assert.deepStrictEqual(missing(ToolOutcome.NotExecuted.fields.reason.literals, reasons), [])
  })

  it("exist for every version", () => {
    const versions = Array.from({ length: RunEvent.version }, (_, at) => at + 1)
    assert.deepStrictEqual(versions.filter((version) => !GoldenSession.all.some((_) => _.version === version)), [])
  })
})
