/** Events are plain JSON: what was stored is what is read. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Canonical from "../../src/run/Canonical.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "codec" } })
const decode = Schema.decodeUnknownSync(RunEvent.Durable)
const throughJson = (event: RunEvent.RunEvent): unknown => JSON.parse(JSON.stringify(event))

const transients: ReadonlyArray<RunEvent.Transient> = [
  { _tag: "StatusChanged", runId: "run-1", from: "preparing", to: "calling" },
  { _tag: "TextDelta", runId: "run-1", turn: 1, attempt: 1, index: 0, block: "0", delta: "a\ud800\0" },
  { _tag: "ReasoningDelta", runId: "run-1", turn: 1, attempt: 1, index: 1, count: 3, block: "0", delta: "" },
  { _tag: "ToolParamsDelta", runId: "run-1", turn: 1, attempt: 1, index: 2, block: "c", delta: "{", tool: "pay" },
  {
    _tag: "RetryScheduled",
    runId: "run-1",
    turn: 1,
    attempt: 1,
    error: { _tag: "Overloaded", message: "busy", status: 503 },
    delay: 1000,
    source: "backoff"
  },
  { _tag: "ToolProgress", runId: "run-1", turn: 1, callId: "1.0", tool: "pay", value: { percent: 50 } }
]

describe("a durable event", () => {
  it.prop("survives JSON and its schema unchanged", [Logs.odd], ([{ log }]) => {
    for (const event of log) assert.deepStrictEqual(decode(throughJson(event)), event)
  }, check(200))

  it.prop("is its own encoding", [Logs.odd], ([{ log }]) => {
    for (const event of log) assert.deepStrictEqual<unknown>(Schema.encodeSync(RunEvent.Durable)(event), event)
  }, check(50))

  it("keeps a key named __proto__ in arguments, results and metadata", () => {
    const value = JSON.parse("{\"__proto__\": {\"a\": 1}}")
    const [started, answer, settled] = Draft.log(
      Draft.started("x", { messages: [Message.user([{ type: "text", text: "x", metadata: value }])], data: value }),
      Draft.assistant([Draft.call("search", value)]),
      Draft.settled("1.0", { _tag: "Succeeded", result: value })
    )
    for (const event of [started!, answer!, settled!]) {
      assert.strictEqual(Canonical.canonical(decode(throughJson(event))), Canonical.canonical(event))
    }
  })

  it.each(Draft.log(Draft.started("x"), Draft.turnFinished(1), Draft.completed()))(
    "$_tag with a field that is missing or wrong is refused",
    (event) => {
      for (const key of Object.keys(event)) {
        assert.throws(() => decode({ ...event, [key]: undefined }), undefined, undefined, key)
        assert.throws(() => decode({ ...event, [key]: { not: "this" } }), undefined, undefined, key)
      }
    }
  )

  it.each([NaN, Infinity, -Infinity])("holds no %d, which JSON lacks", (seq) => {
    const [event] = Draft.log(Draft.started("x"))
    assert.throws(() => decode({ ...event, seq }))
  })

  it("of a type unknown to this version is refused", () => {
    const [event] = Draft.log(Draft.started("x"))
    assert.throws(() => decode({ ...event, _tag: "Invented" }))
  })
})

describe("a transient event", () => {
  it.each(transients)("$_tag survives JSON and the schema of all events unchanged", (event) => {
    assert.deepStrictEqual(Schema.decodeUnknownSync(RunEvent.RunEvent)(throughJson(event)), event)
  })

  it.each(transients)("$_tag is not part of the log", (event) => {
    assert.isFalse(RunEvent.isDurable(event))
    assert.throws(() => decode(event))
  })
})

describe("kinds", () => {
  it.prop("every event of a log is durable, and none is a delta", [Logs.odd], ([{ log }]) => {
    assert.isTrue(log.every((event) => RunEvent.isDurable(event) && !RunEvent.isDelta(event)))
  }, check(50))

  it("there are exactly five ends", () => {
    const tags = RunEvent.RunEvent.members.map((member) => member.fields._tag.schema.literal)
    const ends = tags.filter((_tag) => RunEvent.isEnd({ _tag } as RunEvent.RunEvent))
    assert.deepStrictEqual(ends, ["RunCompleted", "RunLimited", "RunSuspended", "RunFailed", "RunAborted"])
  })

  it("the deltas are those of text, reasoning and arguments", () => {
    const deltas = transients.filter(RunEvent.isDelta).map((event) => event._tag)
    assert.deepStrictEqual(deltas, ["TextDelta", "ReasoningDelta", "ToolParamsDelta"])
  })
})

describe("what an end says of its run", () => {
  const claims = {
    isCrash: RunEvent.isCrash,
    isOfDead: RunEvent.isOfDead,
    isDeath: RunEvent.isDeath,
    isLeft: RunEvent.isLeft,
    byProcess: (end: RunEvent.End) => RunEvent.leftBy(end) === "process",
    byStore: (end: RunEvent.End) => RunEvent.leftBy(end) === "store",
    isOver: RunEvent.isOver,
    isUnwanted: RunEvent.isUnwanted
  }

  it.each<readonly [string, Draft.Placed, ReadonlyArray<keyof typeof claims>]>([
    ["crashed", { ...Draft.aborted, reason: "crashed" }, [
      "isCrash",
      "isOfDead",
      "isDeath",
      "isLeft",
      "byProcess",
      "isUnwanted"
    ]],
    ["shutdown", { ...Draft.aborted, reason: "shutdown" }, ["isLeft", "byProcess", "isUnwanted"]],
    ["consumer", { ...Draft.aborted, reason: "consumer" }, ["isOver", "isUnwanted"]],
    ["forked", { ...Draft.aborted, reason: "forked" }, ["isOver", "isUnwanted"]],
    ["requested", Draft.aborted, ["isOver"]],
    ["of a store that did not answer", Draft.failed("StoreUnavailable"), [
      "isDeath",
      "isLeft",
      "byStore",
      "isUnwanted"
    ]],
    ["of another failure", Draft.failed("Authentication"), ["isOver"]],
    ["crashLoop", { ...Draft.limited(), reason: "crashLoop" }, ["isOfDead", "isOver"]],
    ["of another limit", Draft.limited(), ["isOver"]],
    ["suspended", Draft.suspended, ["isUnwanted"]],
    ["completed", Draft.completed(), ["isOver"]]
  ])("%s", (_, draft, expected) => {
    const [event] = Draft.log(draft)
    const holding = Object.entries(claims).filter(([, holds]) => holds(event as RunEvent.End))
    assert.deepStrictEqual<unknown>(holding.map(([claim]) => claim), expected)
  })
})
