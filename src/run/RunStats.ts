/**
 * Numbers of many runs: how they ended, how many turns, retries and compactions they took, how long models and tools
 * took, what failed, and what was spent. A fold of durable events, session by session; what it keeps does not grow with
 * the logs.
 *
 *     const folded = events.reduce(RunStats.evolve, RunStats.make({ agent: "support" }))
 *     RunStats.summarize(folded).successRate
 *
 * Total and pure. Does not own where events come from, nor how the numbers are presented (`stats/Summary`).
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type * as DurableEvent from "./DurableEvent.ts"
import * as Lost from "./Lost.ts"
import type * as Message from "./Message.ts"
import * as RunEvent from "./RunEvent.ts"
import * as OpenCall from "./state/OpenCall.ts"
import * as CompactionStats from "./stats/CompactionStats.ts"
import * as Counts from "./stats/Counts.ts"
import * as Distribution from "./stats/Distribution.ts"
import * as ModelStats from "./stats/ModelStats.ts"
import * as RunTally from "./stats/RunTally.ts"
import * as Summary from "./stats/Summary.ts"
import * as ToolStats from "./stats/ToolStats.ts"
import type * as ToolOutcome from "./ToolOutcome.ts"
import * as Usage from "./Usage.ts"

export type { Spread, Summary, Times, Tokens } from "./stats/Summary.ts"

/** Which runs count; every given condition must hold. */
export interface Filter {
  /** the agent's name */
  readonly agent?: string | undefined
  /** milliseconds since the epoch: runs that were started then or later */
  readonly since?: number | undefined
}

/** What `evolve` folds into; read it through `summarize`. */
export interface RunStats {
  readonly filter: Filter
  /** sessions with a run that counts */
  readonly sessions: number
  /** events so far of the session under way, of runs that count */
  readonly events: number
  /** the run under way, if it counts */
  readonly run: RunTally.RunTally | undefined
  readonly runs: number
  /** runs by agent, including agents that the filter leaves out */
  readonly agents: Counts.Counts
  readonly drives: number
  /** runs by the tag of their end; `Unfinished` if they have none */
  readonly ends: Counts.Counts
  /** by the end's tag, then by its reason */
  readonly reasons: HashMap.HashMap<RunEvent.End["_tag"], Counts.Counts>
  /** of runs */
  readonly turns: Distribution.Distribution
  readonly retries: Distribution.Distribution
  readonly compactions: Distribution.Distribution
  readonly runTime: Distribution.Distribution
  readonly retried: number
  readonly compacted: number
  /** milliseconds spent in attempts that do not count and the waits after them */
  readonly lostTime: number
  /** of turns, calls and questions, in milliseconds */
  readonly modelTime: Distribution.Distribution
  readonly firstPart: Distribution.Distribution
  readonly toolTime: Distribution.Distribution
  readonly waitTime: Distribution.Distribution
  /** tokens that a model call was sent */
  readonly prompts: Distribution.Distribution
  readonly eventsOfSession: Distribution.Distribution
  readonly answers: Counts.Counts
  readonly questions: number
  readonly attemptErrors: Counts.Counts
  readonly toolErrors: Counts.Counts
  readonly tools: ToolStats.Tools
  readonly models: ModelStats.Models
  /** of models; the `usage` of a call is counted in the runs that worked for it */
  readonly usage: Usage.Usage
  /** settled model calls whose cost was not known */
  readonly unpriced: number
}

/** The numbers before any run; by default every run counts. */
export const make = (filter: Filter = {}): RunStats => ({
  filter,
  sessions: 0,
  events: 0,
  run: undefined,
  runs: 0,
  agents: Counts.empty,
  drives: 0,
  ends: Counts.empty,
  reasons: HashMap.empty(),
  turns: Distribution.empty,
  retries: Distribution.empty,
  compactions: Distribution.empty,
  runTime: Distribution.empty,
  retried: 0,
  compacted: 0,
  lostTime: 0,
  modelTime: Distribution.empty,
  firstPart: Distribution.empty,
  toolTime: Distribution.empty,
  waitTime: Distribution.empty,
  prompts: Distribution.empty,
  eventsOfSession: Distribution.empty,
  answers: Counts.empty,
  questions: 0,
  attemptErrors: Counts.empty,
  toolErrors: Counts.empty,
  tools: ToolStats.empty,
  models: ModelStats.empty,
  usage: Usage.zero,
  unpriced: 0
})

/** Folds in the next event of the session under way. */
export const evolve = (self: RunStats, event: RunEvent.Durable): RunStats => {
  if (event._tag === "RunStarted") return startRun(closeRun(self), event)
  if (self.run === undefined) return self
  return { ...count(self, self.run, event), run: RunTally.evolve(self.run, event), events: self.events + 1 }
}

/** The next event is of another session. */
export const endSession = (self: RunStats): RunStats => {
  const { events, ...closed } = closeRun(self)
  return {
    ...closed,
    events: 0,
    sessions: closed.sessions + (events > 0 ? 1 : 0),
    eventsOfSession: events > 0 ? Distribution.add(closed.eventsOfSession, events) : closed.eventsOfSession
  }
}

/** Everything that was folded in, as plain JSON. */
export const summarize = (self: RunStats): Summary.Summary => Summary.make(endSession(self))

const startRun = (self: RunStats, event: DurableEvent.Of<"RunStarted">): RunStats => {
  const { agent, since } = self.filter
  if (since !== undefined && event.at < since) return self
  const agents = Counts.add(self.agents, event.agent)
  return agent !== undefined && event.agent !== agent
    ? { ...self, agents }
    : { ...self, agents, run: RunTally.empty, events: self.events + 1, runs: self.runs + 1, drives: self.drives + 1 }
}

/** What a model call that led to no answer adds. */
const unanswered = (
  { models, usage }: RunStats,
  call: { readonly model?: Message.ModelRef; readonly usage: Usage.Usage }
): Pick<RunStats, "models" | "usage"> => ({
  usage: Usage.add(usage, call.usage),
  models: call.model === undefined ? models : ModelStats.add(models, call.model, call.usage, 0)
})

/** What an event adds to the numbers, other than through its run. */
const count = (self: RunStats, run: RunTally.RunTally, event: RunEvent.Durable): RunStats => {
  switch (event._tag) {
    case "RunResumed":
      return { ...self, drives: self.drives + 1 }
    case "AttemptDiscarded":
      return {
        ...self,
        lostTime: self.lostTime + Lost.attempt(event.duration ?? 0, event.delay).lostTime,
        attemptErrors: Counts.add(self.attemptErrors, event.error._tag),
        ...unanswered(self, event)
      }
    case "AssistantMessage":
      return {
        ...self,
        prompts: Distribution.add(self.prompts, event.usage.inputTokens),
        usage: Usage.add(self.usage, event.usage),
        unpriced: self.unpriced + (event.usage.cost === undefined ? 1 : 0),
        models: ModelStats.add(self.models, event.model, event.usage, 1)
      }
    case "ApprovalRequested":
      return { ...self, questions: self.questions + 1 }
    case "ApprovalResolved": {
      const askedAt = run.asked.get(event.callId)
      return askedAt === undefined ? self : {
        ...self,
        answers: Counts.add(self.answers, OpenCall.wordOf(event)),
        waitTime: Distribution.add(self.waitTime, event.at - askedAt)
      }
    }
    case "ToolSettled":
      return settle(self, event, RunTally.timeOf(run, event))
    case "TurnFinished": {
      const took = RunTally.modelTimeOf(run, event)
      return took === undefined ? self : {
        ...self,
        modelTime: Distribution.add(self.modelTime, took),
        firstPart: run.isAnswered ? Distribution.add(self.firstPart, event.latency.firstPart) : self.firstPart
      }
    }
    case "ContextCompacted":
    case "CompactionDiscarded":
      return CompactionStats.add(self, event)
    default: {
      const cutOff = RunEvent.isEnd(event) ? RunEvent.cutOffOf(event) : undefined
      return cutOff === undefined ? self : { ...self, ...unanswered(self, cutOff) }
    }
  }
}

const settle = (
  self: RunStats,
  { outcome, tool }: DurableEvent.Of<"ToolSettled">,
  time: number | undefined
): RunStats => ({
  ...self,
  toolErrors: outcome._tag === "Succeeded" ? self.toolErrors : Counts.add(self.toolErrors, kindOf(outcome)),
  ...(time === undefined ? {} : {
    toolTime: Distribution.add(self.toolTime, time),
    tools: ToolStats.add(self.tools, tool, outcome._tag !== "Succeeded", time)
  })
})

const kindOf = (outcome: ToolOutcome.ToolOutcome): string =>
  outcome._tag === "NotExecuted" ? `NotExecuted(${outcome.reason})` : outcome._tag

/** The run under way is over: nothing of the same session follows, or another run does. */
const closeRun = (self: RunStats): RunStats => {
  const { run } = self
  if (run === undefined) return self
  const { compactions, end, retries, turns } = run
  return {
    ...self,
    run: undefined,
    ends: Counts.add(self.ends, end?._tag ?? "Unfinished"),
    reasons: end === undefined ? self.reasons : HashMap.modifyAt(
      self.reasons,
      end._tag,
      (known) => Option.some(Counts.add(Option.getOrElse(known, () => Counts.empty), RunEvent.reasonOf(end)))
    ),
    turns: Distribution.add(self.turns, turns),
    retries: Distribution.add(self.retries, retries),
    compactions: Distribution.add(self.compactions, compactions),
    runTime: end === undefined ? self.runTime : Distribution.add(self.runTime, end.totals.duration),
    retried: self.retried + (retries > 0 ? 1 : 0),
    compacted: self.compacted + (compactions > 0 ? 1 : 0)
  }
}
