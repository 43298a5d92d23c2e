/**
 * Times what it costs to observe runs, per turn, beside runs that nobody observes: spans and metrics exported by OTLP to a
 * server in this process, debug lines, observers. `node --disable-warning=ExperimentalWarning bench/Observe.ts --rounds 15`.
 *
 * Each turn has 20 deltas and a call. Numbers are medians of interleaved rounds; trust the ratios, not the times.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { Console, Effect, Layer, Logger, References, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Otlp } from "effect/observability"
import { createServer } from "node:http"
import { parseArgs } from "node:util"
import { Agent, Fiberloop, Model, type Observer, Observers, SessionStoreMemory } from "../src/index.ts"

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "9" }, turns: { type: "string", default: "200" } }
})
const [rounds, turns] = [Number(values.rounds), Number(values.turns)]
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(turns) || turns < 1) {
  console.error("--rounds and --turns take whole numbers of at least 1")
  process.exit(2)
}

const kit = Toolkit.make(Tool.make("double", {
  parameters: Schema.Struct({ n: Schema.Finite }),
  success: Schema.Finite
}))

type Part = ReturnType<Model["Service"]["stream"]> extends Stream.Stream<infer P, unknown> ? P : never
const deltas = Array.from({ length: 20 }, (): Part => ({ type: "text-delta", block: "0", delta: "abcd" }))
const usage = { inputTokens: 10, outputTokens: 5 }

const Scripted = Layer.succeed(Model, {
  info: { provider: "bench", name: "bench" },
  stream: ({ metadata: { turn } }) => {
    const end: ReadonlyArray<Part> = turn < turns
      ? [
        { type: "tool-call", id: "call", name: "double", params: { n: turn } },
        { type: "finish", reason: "tool-calls", usage }
      ]
      : [{ type: "finish", reason: "stop", usage }]
    return Stream.rechunk(Stream.fromIterable([...deltas, ...end]), 1)
  }
})

/** Microseconds per turn; exporters and their sockets are there before, and flush behind it. */
const timed = Effect.gen(function*() {
  const agent = yield* Agent.make({ instructions: "", toolkit: kit, limits: { maxTurns: Infinity }, doomLoop: false })
  const startedAt = performance.now()
  const result = yield* agent.run({ input: "go" })
  if (result._tag !== "Completed" || result.turns !== turns) {
    return yield* Effect.die(new Error(`${result.turns} turns, not ${turns}`))
  }
  return ((performance.now() - startedAt) * 1000) / turns
}).pipe(
  Effect.provide([
    Fiberloop.layer,
    SessionStoreMemory.layer,
    Scripted,
    kit.toLayer({ double: ({ n }) => Effect.succeed(2 * n) })
  ]),
  Effect.orDie
)

let seen = 0
const observer = (name: string): Observer => ({
  name,
  observe: ({ events }) =>
    Effect.sync(() => {
      seen += events.length
    })
})
const collector = createServer((request, response) => request.resume().on("end", () => response.end("{}")))
await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve))
const address = collector.address()
const baseUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
const exported = Layer.provide(
  Otlp.layerJson({ baseUrl, resource: { serviceName: "bench" }, loggerMergeWithExisting: false }),
  NodeHttpClient.layerUndici
)
const lines = Logger.layer([Logger.make(() => void seen++)])
const debug = Effect.provideService(References.MinimumLogLevel, "Debug")
const observers = Effect.provideService(Observers, [observer("a"), observer("b")])

const contenders: Record<string, Effect.Effect<number>> = {
  "nobody observes": timed,
  "two observers": observers(timed),
  "debug lines": timed.pipe(debug, Effect.provide(lines)),
  "spans and metrics exported": Effect.provide(timed, exported),
  "all of it": observers(timed).pipe(debug, Effect.provide(exported))
}

const median = (times: ReadonlyArray<number>) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN

await Effect.runPromise(Effect.gen(function*() {
  const times = new Map(Object.keys(contenders).map((name): [string, Array<number>] => [name, []]))
  for (let round = -2; round < rounds; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      const micros = yield* contender
      // the first rounds warm up
      if (round >= 0) times.get(name)!.push(micros)
    }
  }
  const floor = median(times.get("nobody observes")!)
  yield* Console.table(
    [...times].map(([name, all]) => ({
      name,
      "us per turn": Number(median(all).toFixed(1)),
      best: Number(Math.min(...all).toFixed(1)),
      ratio: Number((median(all) / floor).toFixed(2))
    }))
  )
}))
collector.closeAllConnections()
collector.close()
