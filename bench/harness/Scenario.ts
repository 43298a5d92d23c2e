/** The scenarios as data: what each measures, and with which script. */
import type { Script } from "./Contender.ts"

const script: Script = {
  turns: 0,
  calls: 1,
  deltas: 3,
  // an answer this short comes in one piece
  chunk: 64,
  between: "microtask",
  latency: 0,
  toolMillis: 0,
  parallel: 1,
  hang: "no"
}

export interface Scenario {
  readonly name: string
  /** the file of `scenarios/` that measures it */
  readonly kind: "Timed" | "Parallel" | "Concurrent" | "Durable" | "Abort" | "ColdStart" | "Command"
  readonly script: Script
  /** a smaller script to warm up with, where the script itself takes long */
  readonly warmUp?: Script
  /** Timed: the unit count and its name; a run's time is divided by the count */
  readonly units: number
  readonly unit: string
  /** how many runs there are at once; Timed: how many consecutive runs one time covers */
  readonly runs: number
}

const deltas = (name: string, chunk: number, between: Script["between"] = "microtask"): Scenario => ({
  name: `deltas, ${name}`,
  kind: "Timed",
  script: { ...script, deltas: 10_000, chunk, between },
  units: 10_000,
  unit: "delta",
  runs: 1
})

const steps = (turns: number): Scenario => ({
  name: `steps, ${turns}`,
  kind: "Timed",
  script: { ...script, turns },
  ...(turns > 100 ? { warmUp: { ...script, turns: 100 } } : {}),
  units: turns,
  unit: "step",
  runs: Math.ceil(1000 / turns)
})

const concurrent = (runs: number): Scenario => ({
  name: `concurrent, ${runs}`,
  kind: "Concurrent",
  script: { ...script, turns: 5, latency: 20 },
  units: 1,
  unit: "run",
  runs
})

const durable = (turns: number): Scenario => ({ ...steps(turns), name: `durable, ${turns}`, kind: "Durable" })

const abort = (hang: "honours" | "ignores"): Scenario => ({
  name: `abort, source that ${hang} its signal`,
  kind: "Abort",
  script: { ...script, hang },
  units: 200,
  unit: "run",
  runs: 200
})

export const all: ReadonlyArray<Scenario> = [
  deltas("one by one", 1),
  deltas("64 at once", 64),
  deltas("a turn of the event loop each", 1, "turn"),
  steps(10),
  steps(100),
  steps(1000),
  {
    name: "parallel",
    kind: "Parallel",
    script: { ...script, turns: 1, calls: 100, toolMillis: 5, parallel: 16 },
    units: 1,
    unit: "round",
    runs: 1
  },
  concurrent(10),
  concurrent(100),
  concurrent(1000),
  durable(200),
  durable(1000),
  abort("honours"),
  abort("ignores"),
  { name: "cold start", kind: "ColdStart", script, units: 1, unit: "start", runs: 1 },
  { name: "command", kind: "Command", script, units: 1, unit: "start", runs: 1 }
]
