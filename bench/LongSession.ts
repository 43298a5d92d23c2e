/**
 * Times what a large database costs: from `run` to the first model request of a session of 100 MB, read in full and from a
 * compaction on, and `list` over 10,000 sessions. `npm run bench:sessions -- --megabytes 100 --rounds 5`.
 *
 * Each round opens the database anew, in this process, and asserts that the request has the right messages.
 */
import { NodeFileSystem } from "@effect/platform-node"
import { Console, Effect, FileSystem, Layer, Stream } from "effect"
import { parseArgs } from "node:util"
import {
  Agent,
  ContextWindow,
  Fiberloop,
  Message,
  Model,
  RunEvent,
  SessionStore,
  SessionStoreSqlite
} from "../src/index.ts"
import { median } from "./harness/Statistics.ts"

const { values } = parseArgs({
  options: {
    megabytes: { type: "string", default: "100" },
    sessions: { type: "string", default: "10000" },
    result: { type: "string", default: "8000" },
    rounds: { type: "string", default: "5" }
  }
})
const [megabytes, sessions, resultSize, rounds] = [values.megabytes, values.sessions, values.result, values.rounds]
  .map(Number) as [number, number, number, number]

const line = "src/layers/Example.ts:12:  const value = \"a line of a tool's output\"\n"
const result = line.repeat(Math.ceil(resultSize / line.length))
const usage = { inputTokens: 1, outputTokens: 1 }
const model = { provider: "bench", name: "bench" }
const totals = { turns: 0, toolRounds: 0, toolCalls: 0, errors: 0, compactions: 0, duration: 0, usage }

/** A run with as many tool turns as take up that many bytes. */
const longRun = (bytes: number): ReadonlyArray<RunEvent.Durable> => {
  const events: Array<RunEvent.Durable> = []
  const write = (draft: RunEvent.Draft) => {
    const place = { seq: events.length + 1, at: events.length, runId: "run", version: RunEvent.version }
    events.push({ ...draft, ...place } as RunEvent.Durable)
  }
  const input = { messages: [Message.user("go")], toolPolicy: {}, limits: {} }
  write({ _tag: "RunStarted", agent: "agent", instructions: "00", input })
  for (let turn = 1, written = 0; written < bytes; turn++, written += result.length + 1000) {
    const call = { turn, callId: `${turn}.0`, tool: "grep" }
    const params = { pattern: `value ${turn}` }
    write({ _tag: "TurnStarted", turn, model, promptSeq: events.length, inputDigest: "11" })
    write({
      _tag: "AssistantMessage",
      turn,
      attempt: 1,
      message: {
        role: "assistant",
        content: [Message.text("I look for it. ".repeat(20)), { type: "tool-call", id: "call", name: "grep", params }]
      },
      finishReason: "tool-calls",
      model,
      usage
    })
    write({ _tag: "ToolStarted", ...call, params })
    write({ _tag: "ToolSettled", ...call, outcome: { _tag: "Succeeded", result }, duration: 1 })
    write({
      _tag: "TurnFinished",
      turn,
      finishReason: "tool-calls",
      latency: { firstPart: 0, model: 0, tools: 0 },
      attempts: 1,
      usage,
      decision: { _tag: "Continue", reason: "toolCalls" }
    })
  }
  write({ _tag: "RunCompleted", reason: "stop", totals })
  return events
}

const append = (sessionId: string, events: ReadonlyArray<RunEvent.Durable>) =>
  Effect.scoped(Effect.gen(function*() {
    const session = yield* (yield* SessionStore).open(sessionId, { runId: "run", create: true })
    for (let i = 0; i < events.length; i += 1000) {
      const [first, ...rest] = events.slice(i, i + 1000)
      yield* session.append([first!, ...rest])
    }
  }))

/** Sends a message; returns the time to the model request, in milliseconds, and how many messages that has. */
const send = (sessionId: string, context: typeof ContextWindow.layer) =>
  Effect.suspend(() => {
    let requested = 0
    let messages = 0
    const answering = Layer.succeed(Model, {
      info: model,
      stream: (request) => {
        requested = performance.now()
        messages = request.messages.length
        return Stream.fromIterable([
          { type: "text-delta", block: "0", delta: "ok" } as const,
          { type: "finish", reason: "stop", usage } as const
        ])
      }
    })
    return Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "" })
      const started = performance.now()
      yield* agent.run({ sessionId, input: "hello" })
      return { millis: requested - started, messages }
    }).pipe(Effect.provide(Layer.mergeAll(answering, Layer.provideMerge(context, Fiberloop.layer))))
  })

const program = Effect.gen(function*() {
  const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const store = SessionStoreSqlite.layer({ filename: `${folder}/sessions.db` })
  const inStore = <A, E>(effect: Effect.Effect<A, E, SessionStore>) => Effect.provide(effect, store)

  const log = longRun(megabytes * 1_000_000)
  yield* inStore(append("full", log))
  yield* inStore(append("compacted", log))
  const few = log.slice(0, 1)
  yield* inStore(Effect.forEach(Array.from({ length: sessions }, (_, i) => `s${i}`), (id) => append(id, few)))
  yield* Console.log(`${log.length} events, ${megabytes} MB; ${sessions} sessions beside it`)

  const window = ContextWindow.layerWith({ compactThreshold: 40 })
  const first = yield* inStore(send("compacted", window))
  yield* Console.log(`the message that compacts it: ${first.millis.toFixed(0)} ms, ${first.messages} messages`)

  const timed: Record<string, Array<number>> = { full: [], compacted: [], list: [], "list, 50": [] }
  const sent: Record<string, number> = {}
  for (let round = 0; round < rounds; round++) {
    for (const name of ["full", "compacted"]) {
      const { messages, millis } = yield* inStore(send(name, name === "full" ? ContextWindow.layer : window))
      timed[name]!.push(millis)
      sent[name] = messages
    }
    for (const [name, options] of [["list", {}], ["list, 50", { limit: 50 }]] as const) {
      yield* inStore(Effect.gen(function*() {
        const { list } = yield* SessionStore
        const started = performance.now()
        const listed = yield* list(options)
        timed[name]!.push(performance.now() - started)
        if (listed.length < Math.min(sessions, name === "list" ? Infinity : 50)) throw new Error("not all are listed")
      }))
    }
  }
  yield* Console.table(
    Object.entries(timed).map(([what, times]) => ({
      what,
      "median ms": Number(median(times).toFixed(1)),
      "best ms": Number(Math.min(...times).toFixed(1)),
      messages: sent[what]
    }))
  )
}).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

await Effect.runPromise(program)
