/** The contenders by name, each with the file that adapts it. Only the process that measures them loads their modules. */
import type { Contender } from "./Contender.ts"
import type { Scenario } from "./Scenario.ts"

export interface Entry {
  readonly name: string
  /** relative to `bench`; it exports the contender under the entry's `name` */
  readonly module: string
  /** in bench's own package.json; absent where the root's dependencies are enough */
  readonly dependency?: string
  /** needs no package at all */
  readonly isPlain?: true
  /** the kinds of scenario it takes part in */
  readonly kinds: ReadonlyArray<Scenario["kind"]>
}

const loop: Entry["kinds"] = ["Timed", "Parallel", "Concurrent", "Abort", "ColdStart"]
const stored: Entry["kinds"] = ["Timed", "Durable"]

export const all: ReadonlyArray<Entry> = [
  { name: "floor: async generator", module: "ours/BareGenerator.ts", isPlain: true, kinds: loop },
  { name: "floor: Effect stream", module: "ours/BareStream.ts", kinds: loop },
  { name: "floor: prepared inserts", module: "ours/BareSqlite.ts", kinds: ["Durable"] },
  { name: "floor: prepared inserts, fsync", module: "ours/BareSqlite.ts", kinds: ["Durable"] },
  { name: "fiberloop", module: "ours/Fiberloop.ts", kinds: [...loop, "Durable", "Command"] },
  { name: "fiberloop, SQLite os", module: "ours/Fiberloop.ts", kinds: stored },
  { name: "fiberloop, SQLite fsync", module: "ours/Fiberloop.ts", kinds: stored },
  { name: "fiberloop, Postgres", module: "ours/Fiberloop.ts", kinds: ["Durable"] },
  { name: "fiberloop, LanguageModel", module: "ours/Fiberloop.ts", kinds: loop },
  { name: "effect/ai loop", module: "ours/EffectAi.ts", kinds: loop },
  { name: "pi", module: "peers/Pi.ts", dependency: "@earendil-works/pi-agent-core", kinds: loop },
  {
    name: "pi, JSONL session",
    module: "peers/PiSession.ts",
    dependency: "@earendil-works/pi-coding-agent",
    kinds: stored
  },
  { name: "AI SDK", module: "peers/AiSdk.ts", dependency: "ai", kinds: loop },
  { name: "OpenAI Agents", module: "peers/OpenAiAgents.ts", dependency: "@openai/agents", kinds: loop },
  { name: "LangChain", module: "peers/LangChain.ts", dependency: "langchain", kinds: loop },
  { name: "LangChain, MemorySaver", module: "peers/LangChain.ts", dependency: "langchain", kinds: ["Timed"] },
  { name: "Mastra", module: "peers/Mastra.ts", dependency: "@mastra/core", kinds: loop }
]

/** The contender of an entry: its module exports them as `contenders`. */
export const load = async (entry: Entry): Promise<Contender> => {
  // a peer's module is named only at run time, so that our code can be checked without installing the peers
  const { contenders } = await import(new URL(`../${entry.module}`, import.meta.url).href) as {
    readonly contenders: ReadonlyArray<Contender>
  }
  const found = contenders.find(({ name }) => name === entry.name)
  if (found === undefined) throw new Error(`${entry.module} exports no contender "${entry.name}"`)
  return found
}
