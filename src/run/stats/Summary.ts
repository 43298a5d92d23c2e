/**
 * The numbers of runs as plain JSON: what `fiberloop stats --json` prints. Times are in milliseconds; an unknown number
 * is `null`. Percentiles are nearest-rank, to three significant digits.
 */
import * as HashMap from "effect/HashMap"
import type * as RunEvent from "../RunEvent.ts"
import type { RunStats } from "../RunStats.ts"
import * as RunStatus from "../RunStatus.ts"
import type * as Usage from "../Usage.ts"
import * as Counts from "./Counts.ts"
import * as Distribution from "./Distribution.ts"

type Count = Readonly<Record<string, number>>

/** Statistics of a number that each run, session or model call has. */
export interface Spread {
  readonly total: number
  readonly mean: number | null
  readonly p95: number | null
  readonly max: number | null
}

/** Statistics of times, in milliseconds. */
export interface Times {
  readonly count: number
  readonly p50: number | null
  readonly p95: number | null
  readonly max: number | null
}

export interface Tokens {
  /** cached ones included */
  readonly input: number
  /** reasoning included */
  readonly output: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly reasoning: number
}

export interface Summary {
  /** sessions with a run that counts */
  readonly sessions: number
  readonly runs: number
  /** runs by agent, including agents that the filter leaves out */
  readonly agents: Count
  readonly drives: number
  /** runs by how their last drive ended; `unfinished`: it is under way, or its process died */
  readonly ends: {
    readonly completed: number
    readonly limited: number
    readonly suspended: number
    readonly failed: number
    readonly aborted: number
    readonly unfinished: number
  }
  /** the same by reason: `{ "limited": { "turns": 2 } }`; for failed runs the error's reason */
  readonly reasons: Readonly<Record<string, Count>>
  /** from 0 to 1: completed runs of those that completed, were limited, failed or were aborted */
  readonly successRate: number | null
  /** settled model calls of a run */
  readonly turns: Spread
  /**
   * per run, with those of its compactions; `runs`: how many had one, `lostTime`: time in attempts that do not count and the
   * waits after them
   */
  readonly retries: Spread & { readonly runs: number; readonly lostTime: number }
  /** per run; `runs`: how many had one, `perHundredTurns`: how frequent they are */
  readonly compactions: Spread & { readonly runs: number; readonly perHundredTurns: number | null }
  readonly latency: {
    /** the settled model call of a turn: in whole, and to its first part of content */
    readonly model: Times
    readonly firstPart: Times
    /** calls whose handler ran to its end */
    readonly tools: Times
    /** from a question to its answer */
    readonly approvals: Times
    /** drive time of a run that has an end, without time spent waiting for people */
    readonly runs: Times
  }
  readonly tools: Readonly<Record<string, Times & { readonly errors: number }>>
  readonly approvals: {
    readonly asked: number
    readonly approved: number
    /** answered with a result instead of running the tool */
    readonly answered: number
    readonly denied: number
  }
  /** by kind: attempts at model calls that do not count, tool calls that did not succeed, failed runs */
  readonly errors: { readonly attempts: Count; readonly tools: Count; readonly runs: Count }
  /** input tokens of a settled model call: what it was sent */
  readonly promptTokens: Spread
  /** stored events of a session */
  readonly events: Spread
  readonly tokens: Tokens
  /**
   * in the unit of the application's prices; `null` if none was known. `unpriced`: settled model calls of no known cost, for want of a
   * price or of usage
   */
  readonly cost: number | null
  readonly unpriced: number
  readonly models: Readonly<Record<string, Tokens & { readonly calls: number; readonly cost: number | null }>>
}

/** For a fold whose sessions have all ended. */
export const make = (self: RunStats): Summary => {
  const ends = Counts.toRecord(self.ends)
  const of = (tag: RunEvent.End["_tag"] | "Unfinished") => ends[tag] ?? 0
  const over = of("RunCompleted") + of("RunLimited") + of("RunFailed") + of("RunAborted")
  const reasons: Record<string, Count> = Object.fromEntries(
    HashMap.toEntries(self.reasons).map(([tag, counts]) => [RunStatus.ofEnd(tag), Counts.toRecord(counts)])
  )
  const answers = Counts.toRecord(self.answers)
  const turns = spread(self.turns)
  return {
    sessions: self.sessions,
    runs: self.runs,
    agents: Counts.toRecord(self.agents),
    drives: self.drives,
    ends: {
      completed: of("RunCompleted"),
      limited: of("RunLimited"),
      suspended: of("RunSuspended"),
      failed: of("RunFailed"),
      aborted: of("RunAborted"),
      unfinished: of("Unfinished")
    },
    reasons,
    successRate: over === 0 ? null : of("RunCompleted") / over,
    turns,
    retries: { ...spread(self.retries), runs: self.retried, lostTime: self.lostTime },
    compactions: {
      ...spread(self.compactions),
      runs: self.compacted,
      perHundredTurns: turns.total === 0 ? null : 100 * self.compactions.sum / turns.total
    },
    latency: {
      model: times(self.modelTime),
      firstPart: times(self.firstPart),
      tools: times(self.toolTime),
      approvals: times(self.waitTime),
      runs: times(self.runTime)
    },
    tools: byMost(self.tools, ({ time }) => time.count, ({ errors, time }) => ({ ...times(time), errors })),
    approvals: {
      asked: self.questions,
      approved: answers["approved"] ?? 0,
      answered: answers["answered"] ?? 0,
      denied: answers["denied"] ?? 0
    },
    errors: {
      attempts: Counts.toRecord(self.attemptErrors),
      tools: Counts.toRecord(self.toolErrors),
      runs: reasons["failed"] ?? {}
    },
    promptTokens: spread(self.prompts),
    events: spread(self.eventsOfSession),
    tokens: tokens(self.usage),
    cost: self.usage.cost ?? null,
    unpriced: self.unpriced,
    models: byMost(
      self.models,
      ({ calls }) => calls,
      ({ calls, usage }) => ({ calls, ...tokens(usage), cost: usage.cost ?? null })
    )
  }
}

const spread = (of: Distribution.Distribution): Spread => ({
  total: of.sum,
  mean: Distribution.mean(of),
  p95: Distribution.quantile(of, 0.95),
  max: of.count === 0 ? null : of.max
})

const times = (of: Distribution.Distribution): Times => ({
  count: of.count,
  p50: Distribution.quantile(of, 0.5),
  p95: Distribution.quantile(of, 0.95),
  max: of.count === 0 ? null : of.max
})

const tokens = (usage: Usage.Usage): Tokens => ({
  input: usage.inputTokens,
  output: usage.outputTokens,
  cachedInput: usage.cachedInputTokens ?? 0,
  cacheWrite: usage.cacheWriteTokens ?? 0,
  reasoning: usage.reasoningTokens ?? 0
})

/** The most used come first. */
const byMost = <A, B>(all: HashMap.HashMap<string, A>, calls: (a: A) => number, to: (a: A) => B): Record<string, B> =>
  Object.fromEntries(
    HashMap.toEntries(all)
      .sort(([a, one], [b, other]) => calls(other) - calls(one) || (a < b ? -1 : 1))
      .map(([name, a]) => [name, to(a)])
  )
