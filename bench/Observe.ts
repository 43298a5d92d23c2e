/**
 * Times what it costs to observe runs, per turn, compared with unobserved runs: spans and metrics exported by OTLP to a server
 * in another process, debug lines, observers.
 * `npm run bench:observe -- --rounds 15`.
 *
 * Each turn has 20 deltas and a call. A run is over before most of what it passes to an exporter is sent, which these numbers do
 * not include. Numbers are medians of interleaved rounds, in processor time, which other processes disturb less; trust the
 * ratios, not the times.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { Console, Effect, Layer, Logger, References, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Otlp } from "effect/observability"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { parseArgs } from "node:util"
import { Agent, Fiberloop, Model, type Observer, Observers, SessionStoreMemory } from "../src/index.ts"
import { median } from "./harness/Statistics.ts"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    turns: { type: "string", default: "600" },
    only: { type: "string" }
  }
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

/** Microseconds per turn; exporters and their sockets exist before the measurement, and flush after it. */
const timed = Effect.gen(function*() {
  const agent = yield* Agent.make({ instructions: "", toolkit: kit, limits: { maxTurns: Infinity }, doomLoop: false })
  const before = process.cpuUsage()
  const result = yield* agent.run({ input: "go" })
  if (result._tag !== "Completed" || result.turns !== turns) {
    return yield* Effect.die(new Error(`${result.turns} turns, not ${turns}`))
  }
  const { system, user } = process.cpuUsage(before)
  return (system + user) / turns
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
const collector = spawn(process.execPath, [
  "--input-type=module",
  "--eval",
  `
  import { createServer } from "node:http"
  const server = createServer((request, response) => request.resume().on("end", () => response.end("{}")))
  server.listen(0, "127.0.0.1", () => process.send(server.address().port))
  process.on("disconnect", () => process.exit())`
], { stdio: ["ignore", "inherit", "inherit", "ipc"] })
const [port] = await once(collector, "message")
const baseUrl = `http://127.0.0.1:${port}`
const exported = Layer.provide(
  Otlp.layerJson({ baseUrl, resource: { serviceName: "bench" }, loggerMergeWithExisting: false }),
  NodeHttpClient.layerUndici
)
const lines = Logger.layer([Logger.make(() => void seen++)])
const debug = Effect.provideService(References.MinimumLogLevel, "Debug")
const observers = Effect.provideService(Observers, [observer("a"), observer("b")])

const all: Record<string, Effect.Effect<number>> = {
  "nobody observes": timed,
  "two observers": observers(timed),
  "spans and metrics exported": Effect.provide(timed, exported),
  "exported, two observers": Effect.provide(observers(timed), exported),
  "debug lines": timed.pipe(debug, Effect.provide(lines)),
  "exported, two observers, debug lines": observers(timed).pipe(debug, Effect.provide(exported))
}

const contenders = Object.fromEntries(Object.entries(all).filter(([name]) => name.includes(values.only ?? "")))

await Effect.runPromise(Effect.gen(function*() {
  const times = new Map(Object.keys(contenders).map((name): [string, Array<number>] => [name, []]))
  for (let round = -2; round < rounds; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      const micros = yield* contender
      // the first rounds warm up
      if (round >= 0) times.get(name)!.push(micros)
    }
  }
  const floor = times.get("nobody observes")
  yield* Console.table(
    [...times].map(([name, micros]) => ({
      name,
      "us per turn": Number(median(micros).toFixed(1)),
      best: Number(Math.min(...micros).toFixed(1)),
      ...(floor === undefined ? {} : { ratio: Number((median(micros) / median(floor)).toFixed(2)) })
    }))
  )
}))
collector.disconnect()
