/**
 * Runs an agent over a recorded stream that arrives over a socket: whole, in pieces of one byte, and cut at many
 * offsets by a clean end and by a reset.
 *
 * Owns what must hold for any recording of any protocol; what a recording says is another matter (`Replay`).
 */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { isDeepStrictEqual } from "node:util"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import type * as Message from "../../src/run/Message.ts"
import * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as OpenAi from "./OpenAiServer.ts"
import type { Protocol } from "./Protocol.ts"
import type { Payload } from "./Recording.ts"
import * as RunLog from "./RunLog.ts"
import * as TestStore from "./TestStore.ts"

/** What became of one run, without what differs between runs. */
interface Outcome {
  readonly end: string
  readonly message:
    | { readonly content: ReadonlyArray<Message.AssistantPart>; readonly finishReason: string }
    | undefined
  readonly usage: unknown
  readonly outcomes: ReadonlyArray<string>
  readonly discarded: ReadonlyArray<string>
  /** the tools that were executed */
  readonly ran: ReadonlyArray<string>
}

const cut: Outcome = {
  end: "RunFailed(RetriesExhausted)",
  message: undefined,
  usage: undefined,
  outcomes: [],
  discarded: ["StreamTruncated"],
  ran: []
}

const unused = (outcome: Outcome): Outcome => ({ ...outcome, usage: undefined })

const textOf = ({ message }: Outcome): string =>
  message === undefined
    ? ""
    : message.content.map((part) => part.type === "text" ? part.text : "").join("")

/** Fails unless these texts are all there, in order; other texts may be between them. */
const checkTexts = (text: string, said: ReadonlyArray<string>): void => {
  let at = 0
  for (const piece of said.filter((piece) => piece.trim() !== "")) {
    const found = text.indexOf(piece, at)
    assert.isAtLeast(found, 0, `${JSON.stringify(piece)} is not in the text after ${at}`)
    at = found + piece.length
  }
}

/** An answer without content is requested again, as is one that a provider's package cannot read. */
const unusable: ReadonlyArray<string> = ["EmptyResponse", "InvalidResponse"]

/** Fails unless an answer that was played in full ended as its recording says, with its texts. */
const checkEnding = (protocol: Protocol, payloads: ReadonlyArray<Payload>, outcome: Outcome): void => {
  switch (protocol.ending(payloads)) {
    case "whole":
      assert.deepStrictEqual(outcome.discarded.filter((tag) => !unusable.includes(tag)), [])
      assert.strictEqual(outcome.message === undefined, outcome.discarded.length > 0)
      return outcome.message === undefined ? undefined : checkTexts(textOf(outcome), payloads.map(protocol.text))
    case "failed":
      assert.isUndefined(outcome.message)
      assert.match(outcome.end, /^RunFailed/)
      return assert.notInclude(outcome.discarded, "StreamTruncated")
    case "cut":
      return assert.deepStrictEqual(unused(outcome), cut)
    case undefined:
      return
  }
}

/** A part without its call's id, which an adapter makes up if the provider sends none. */
const unnamed = (part: Message.AssistantPart) => "id" in part ? { ...part, id: "" } : part

/** The names of the tools that a recording calls. */
const toolsOf = Effect.fnUntraced(function*(protocol: Protocol, whole: OpenAi.Reply) {
  const server = yield* OpenAi.make(whole)
  const model = Context.get(yield* Layer.build(protocol.model(server)), Model.Model)
  const names = new Set<string>()
  yield* model.stream({
    messages: [{ role: "user", content: [{ type: "text", text: "go" }] }],
    tools: [],
    toolChoice: "none",
    metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 1 }
  }).pipe(
    Stream.runForEach((part) =>
      Effect.sync(() => part.type === "tool-call" && part.providerExecuted !== true && names.add(part.name))
    ),
    Effect.ignore
  )
  return [...names]
})

/** What becomes of each of these replies: one run for each, of one agent that has the tools of `whole`. */
const play = Effect.fnUntraced(
  function*(protocol: Protocol, whole: OpenAi.Reply, replies: ReadonlyArray<OpenAi.Reply>) {
    const ran: Array<string> = []
    const tools = (yield* toolsOf(protocol, whole)).map((name) =>
      Tool.make(name, { parameters: Schema.Unknown, success: Schema.String })
    )
    // tools known only at run time: their handlers are asked for below
    const kit = Toolkit.make(...tools) as unknown as Toolkit.Toolkit<{}>
    const handlers = Object.fromEntries(tools.map(({ name }) => [name, () =>
      Effect.sync(() => {
        ran.push(name)
        return "done"
      })]
    ))
    const server = yield* OpenAi.make(...replies)
    const store = yield* TestStore.make()
    const below = Layer.mergeAll(
      Fiberloop.layer,
      store.layer,
      protocol.model(server),
      kit.toLayer(handlers as never) as Layer.Layer<never>
    )
    const agent = yield* Agent.make({
      instructions: "Be brief.",
      toolkit: kit,
      limits: { maxTurns: 1 },
      retry: RetryPolicy.make({ maxRetries: 0 })
    }).pipe(Effect.provide(yield* Layer.build(below)))

    const outcomes: Array<Outcome> = []
    for (const n of replies.keys()) {
      ran.length = 0
      yield* Effect.exit(agent.run({ sessionId: `s${n}`, input: "go" }))
      const log = yield* store.log(`s${n}`)
      const [message] = RunLog.only(log, "AssistantMessage")
      outcomes.push({
        end: RunLog.endOf(log),
        message: message === undefined
          ? undefined
          : { content: message.message.content.map(unnamed), finishReason: message.finishReason },
        usage: message?.usage,
        outcomes: RunLog.outcomes(log),
        discarded: RunLog.only(log, "AttemptDiscarded").map(({ error }) => error._tag),
        ran: [...ran]
      })
    }
    return outcomes
  }
)

/** Every offset below 4 kB, around the ends of events, and 500 by seed; or all of them. */
const offsets = (
  body: Uint8Array,
  ends: ReadonlyArray<number>,
  isFull: boolean
): Effect.Effect<ReadonlyArray<number>> =>
  Effect.gen(function*() {
    if (isFull) return [...body.keys()]
    const { length } = body
    const some = yield* Effect.replicateEffect(Random.nextIntBetween(0, length), 500).pipe(Random.withSeed("cuts"))
    const all = [...Array(4096).keys(), ...ends.flatMap((end) => [end - 1, end, end + 1]), ...some]
    return [...new Set(all)].filter((at) => at < length).sort((a, b) => a - b)
  })

const bytes = (text: string) => new TextEncoder().encode(text)

/** The tests of a recording; `isFull` cuts it at every offset. */
export const suite = (protocol: Protocol, payloads: ReadonlyArray<Payload>, isFull: boolean, timeout: number): void => {
  const events = payloads.map((payload) => bytes(protocol.event(payload)))
  const body = Buffer.concat([...events, bytes(protocol.end)])
  let length = 0
  const ends = events.map((event) => length += event.length)
  const decided = payloads.findIndex(protocol.decides)
  // the last brace may be enough
  const decidedAt = (ends[decided] ?? Number.POSITIVE_INFINITY) - 2
  /** the last event that came with the bytes up to here */
  const came = (at: number) => ends.findLastIndex((end) => end <= at)
  const whole = OpenAi.events(body)
  /** up to each event from the finish on: content may follow it */
  const decidedBy = decided < 0 ?
    [] :
    ends.slice(decided).map((end) => OpenAi.events(body.subarray(0, end), bytes(protocol.end)))

  it.effect(
    "ends as recorded, and equally in one piece, in pieces of one event and of one byte",
    () =>
      Effect.gen(function*() {
        const single = Array.from(body, (byte) => Uint8Array.of(byte))
        const replies = [whole, whole, OpenAi.events(...events, bytes(protocol.end)), OpenAi.events(...single)]
        const [first, ...others] = yield* play(protocol, whole, replies)
        if (first !== undefined) checkEnding(protocol, payloads, first)
        for (const other of others) assert.deepStrictEqual(other, first)
      }),
    timeout
  )

  describe.each(["end", "reset"] as const)("cut by a socket's %s", (ending) => {
    it.effect(
      "is truncated before its finish, with no tool executed, and after it whole or truncated",
      () =>
        Effect.gen(function*() {
          const cuts = yield* offsets(body, ends, isFull)
          const replies = cuts.map((at) => ({ ...whole, pieces: at === 0 ? [] : [body.subarray(0, at)], ending }))
          const outcomes = (yield* play(protocol, whole, [...decidedBy, ...replies])).map(unused)
          const said = outcomes.splice(0, decidedBy.length)
          outcomes.forEach((outcome, n) => {
            const at = cuts[n] ?? 0
            const isCut = at < decidedAt || outcome.discarded[0] === "StreamTruncated"
            const readings = [at + 2, at].flatMap((at) => said[came(at) - decided] ?? [])
            const reading = readings.find((reading) => isDeepStrictEqual(reading, outcome)) ?? readings[0]
            assert.deepStrictEqual(outcome, isCut ? cut : reading, `cut at ${at}`)
          })
        }),
      timeout
    )
  })
}
