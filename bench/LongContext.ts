/**
 * Times one session of many turns, whose context is compacted by a summary again and again: milliseconds, memory and stored
 * bytes per turn, and how the last hundred turns compare with the first. `npm run bench:context -- --turns 2000`.
 *
 * Writes `bench/plots/long-context.svg`. The models take no time; sessions are in a SQLite file.
 */
import { NodeFileSystem } from "@effect/platform-node"
import { Console, Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Agent, ContextSummary, Fiberloop, Model, SessionStore, SessionStoreSqlite } from "../src/index.ts"
import * as Curves from "./harness/Curves.ts"

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: "2000" },
    run: { type: "string", default: "100" },
    window: { type: "string", default: "32000" },
    result: { type: "string", default: "2000" }
  }
})
const [turns, each, contextWindow, resultSize] = [values.turns, values.run, values.window, values.result]
  .map(Number) as [number, number, number, number]

const line = "src/layers/Example.ts:12:  const value = \"a line of a tool's output\"\n"
const result = line.repeat(Math.ceil(resultSize / line.length))
const collect = (globalThis as { readonly gc?: () => void }).gc

const toolkit = Toolkit.make(
  Tool.make("grep", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.String })
)
const tools = toolkit.toLayer({ grep: ({ n }) => Effect.succeed(`${n}\n${result}`) })

type Parts = ReturnType<Model["Service"]["stream"]>

const answer = (text: string): Parts =>
  Stream.fromIterable([
    { type: "text-delta", block: "0", delta: text } as const,
    { type: "finish", reason: "stop", usage: { inputTokens: 0, outputTokens: 1 } } as const
  ])

const condenser = Layer.succeed(Model, {
  info: { provider: "bench", name: "condenser" },
  stream: () => answer("They looked at files, and found what they looked for, and went on. ".repeat(40))
})

/** When each turn's model was asked, and the heap at that time, once in twenty turns. */
const asked: Array<number> = []
const heap: Array<readonly [number, number]> = []

const model = Layer.succeed(Model, {
  info: { provider: "bench", name: "bench", contextWindow },
  stream: ({ metadata: { turn } }): Parts => {
    if (asked.length % 20 === 0) {
      collect?.()
      heap.push([asked.length + 1, process.memoryUsage().heapUsed / 1e6])
    }
    asked.push(performance.now())
    const n = asked.length
    if (turn % each === 0) return answer("That is all of it for now.")
    return Stream.fromIterable([
      { type: "text-delta", block: "0", delta: `I look at number ${n}. ` } as const,
      { type: "tool-call", id: `call_${n}`, name: "grep", params: { n } } as const,
      { type: "finish", reason: "tool-calls", usage: { inputTokens: 0, outputTokens: 1 } } as const
    ])
  }
})

const mean = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length

/** Means of twenty each. */
const smooth = (numbers: ReadonlyArray<number>) =>
  Array.from(
    { length: Math.floor(numbers.length / 20) },
    (_, i) => [(i + 1) * 20, mean(numbers.slice(i * 20, (i + 1) * 20))] as const
  )

/** Bytes of JSON that each turn stored, and how many of all bytes belong to compactions. */
const bytesOf = Effect.fnUntraced(function*(sessionId: string) {
  const bytes: Array<number> = []
  let open = 0
  let compactions = 0
  let ofCompactions = 0
  yield* Stream.runForEach((yield* SessionStore).read(sessionId), (event) =>
    Effect.sync(() => {
      const size = JSON.stringify(event).length
      open += size
      if (event._tag === "ContextCompacted") {
        compactions++
        ofCompactions += size
      }
      if (event._tag !== "TurnFinished") return
      bytes.push(open)
      open = 0
    }))
  return { bytes, compactions, ofCompactions }
})

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const context = Layer.provide(ContextSummary.layer, condenser)
  const below = Layer.mergeAll(model, tools, Layer.provideMerge(context, Fiberloop.layer))
  yield* Effect.gen(function*() {
    const agent = yield* Agent.make({ instructions: "Look.", toolkit, limits: { maxTurns: each } })
    for (let i = 0; i < turns / each; i++) yield* agent.run({ sessionId: "s", input: `Question ${i}.` })
    const { bytes, compactions, ofCompactions } = yield* bytesOf("s")
    if (bytes.length !== turns) throw new Error(`${bytes.length} turns, not ${turns}`)
    const times = asked.slice(1).map((at, i) => at - asked[i]!)
    const compare = (numbers: ReadonlyArray<number>) => ({
      "first 100": mean(numbers.slice(0, 100)),
      "last 100": mean(numbers.slice(-100)),
      ratio: mean(numbers.slice(-100)) / mean(numbers.slice(0, 100))
    })
    yield* Console.table({ "ms a turn": compare(times), "bytes a turn": compare(bytes) })
    yield* Console.log(
      `${compactions} compactions, ${
        (100 * ofCompactions / bytes.reduce((sum, n) => sum + n, 0)).toFixed(1)
      } % of the ` +
        `bytes; heap ${heap[1]![1].toFixed(1)} MB at turn ${heap[1]![0]}, ${heap.at(-1)![1].toFixed(1)} MB at turn ${
          heap.at(-1)![0]
        }${collect === undefined ? " (with garbage: run node with --expose-gc)" : ""}`
    )
    const file = fileURLToPath(new URL("./plots/long-context.svg", import.meta.url))
    yield* fs.makeDirectory(fileURLToPath(new URL("./plots", import.meta.url)), { recursive: true })
    yield* fs.writeFileString(
      file,
      Curves.svg(`One session of ${turns} turns, compacted ${compactions} times`, "turn", [
        { title: "time", unit: "ms a turn", points: smooth(times) },
        { title: "heap", unit: "MB", points: heap },
        { title: "stored", unit: "bytes a turn", points: smooth(bytes) }
      ])
    )
    yield* Console.log(`wrote ${file}`)
  }).pipe(Effect.provide(Layer.provideMerge(below, SessionStoreSqlite.layer({ filename: `${folder}/sessions.db` }))))
})

await Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(NodeFileSystem.layer)))
