/** The statistics of runs, counted from whole logs in memory: what `RunStats` is compared with. */
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunStats from "../../src/run/RunStats.ts"
import type * as Logs from "../support/Logs.ts"
import * as RunLog from "../support/RunLog.ts"

/** The events of each run, from its start to the next. */
const runsOf = (log: Logs.Log): ReadonlyArray<Logs.Log> =>
  log.reduce<Array<Array<RunEvent.Durable>>>((runs, event) => {
    if (event._tag === "RunStarted") runs.push([])
    runs.at(-1)?.push(event)
    return runs
  }, [])

const round = (value: number) => Number(value.toPrecision(3))

const rank = (values: ReadonlyArray<number>, part: number): number | null => {
  if (values.length === 0) return null
  const sorted = values.map(round).sort((a, b) => a - b)
  return Math.min(sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1]!, Math.max(...values))
}

const sum = (values: ReadonlyArray<number>) => values.reduce((a, b) => a + b, 0)
const max = (values: ReadonlyArray<number>) => values.length === 0 ? null : Math.max(...values)

const spread = (values: ReadonlyArray<number>) => ({
  total: sum(values),
  mean: values.length === 0 ? null : sum(values) / values.length,
  p95: rank(values, 0.95),
  max: max(values)
})

const times = (values: ReadonlyArray<number>) => ({
  count: values.length,
  p50: rank(values, 0.5),
  p95: rank(values, 0.95),
  max: max(values)
})

const countBy = (names: ReadonlyArray<string>): Record<string, number> => {
  const out: Record<string, number> = {}
  for (const name of names) out[name] = (out[name] ?? 0) + 1
  return out
}

/** The drives of a run: each with its events, from its start or its resumption. */
const drivesOf = (run: Logs.Log): ReadonlyArray<Logs.Log> =>
  run.reduce<Array<Array<RunEvent.Durable>>>((drives, event) => {
    if (event._tag === "RunStarted" || event._tag === "RunResumed") drives.push([])
    drives.at(-1)!.push(event)
    return drives
  }, [])

/** Settled calls that were started earlier in the same turn of the same drive, and ran to an end. */
const ranOf = (run: Logs.Log) =>
  drivesOf(run).flatMap((drive) =>
    drive.flatMap((event, at) => {
      if (event._tag !== "ToolSettled") return []
      if (!["Succeeded", "Failed", "TimedOut", "NotEncodable"].includes(event.outcome._tag)) return []
      const before = drive.slice(0, at)
      const turnAt = before.findLastIndex(({ _tag }) => _tag === "TurnStarted")
      const isStarted = before
        .slice(turnAt + 1)
        .some((_) => _._tag === "ToolStarted" && _.callId === event.callId)
      return isStarted ? [event] : []
    })
  )

/** Turns whose model call was settled in the drive that finished them. */
const timedTurnsOf = (run: Logs.Log) =>
  drivesOf(run).flatMap((drive) =>
    drive.flatMap((event, at) => {
      if (event._tag !== "TurnFinished") return []
      const before = drive.slice(0, at)
      const turnAt = before.findLastIndex(({ _tag }) => _tag === "TurnStarted")
      return before.slice(turnAt + 1).some(({ _tag }) => _tag === "AssistantMessage") ? [event] : []
    })
  )

/** How long the model call of each turn took, as far as it is known: as measured, or by the log where a later drive finished the turn. */
const modelTimesOf = (run: Logs.Log): ReadonlyArray<number> => {
  const measured = timedTurnsOf(run)
  return run.flatMap((event, at) => {
    if (event._tag !== "TurnFinished") return []
    if (measured.includes(event)) return [event.latency.model]
    const before = run.slice(0, at)
    const answeredAt = before.findLastIndex(({ _tag }) => _tag === "AssistantMessage")
    if (answeredAt < before.findLastIndex(({ _tag }) => _tag === "TurnStarted")) return []
    const began = before.slice(0, Math.max(0, answeredAt)).findLast(({ _tag }) => begins.some((tag) => tag === _tag))
    const to = before[answeredAt]?.at ?? 0
    switch (began?._tag) {
      case "TurnStarted":
      case "ModelSwitched":
        return [Math.max(0, to - began.at)]
      case "AttemptDiscarded":
        return began.delay === undefined ? [] : [Math.max(0, to - began.at - began.delay)]
      default:
        return []
    }
  })
}

const begins = ["RunStarted", "RunResumed", "TurnStarted", "ModelSwitched", "AttemptDiscarded", "AssistantMessage"]

/** Milliseconds from each question to its answer; a question asked again replaces the old one. */
const waitsOf = (run: Logs.Log) =>
  run.flatMap((event, at) => {
    if (event._tag !== "ApprovalResolved") return []
    const last = run.slice(0, at).findLast((_) =>
      (_._tag === "ApprovalRequested" || _._tag === "ApprovalResolved") && _.callId === event.callId
    )
    const { approved, at: answeredAt, result } = event
    return last?._tag === "ApprovalRequested" ? [{ approved, result, wait: answeredAt - last.at }] : []
  })

const endOf = (run: Logs.Log): RunEvent.End | undefined => {
  const last = run.findLast((event) => RunEvent.isEnd(event) || event._tag === "RunResumed")
  return last !== undefined && RunEvent.isEnd(last) ? last : undefined
}

const words = {
  RunCompleted: "completed",
  RunLimited: "limited",
  RunSuspended: "suspended",
  RunFailed: "failed",
  RunAborted: "aborted"
} as const

type Usages = ReadonlyArray<RunEvent.Totals["usage"]>

const tokens = (usages: Usages) => {
  const of = (key: Exclude<keyof Usages[number], "cost">) => sum(usages.map((usage) => usage[key] ?? 0))
  return {
    input: of("inputTokens"),
    output: of("outputTokens"),
    cachedInput: of("cachedInputTokens"),
    cacheWrite: of("cacheWriteTokens"),
    reasoning: of("reasoningTokens")
  }
}

const cost = (usages: Usages) => {
  const known = usages.flatMap(({ cost }) => cost === undefined ? [] : [cost])
  return known.length === 0 ? null : sum(known)
}

/** Compactions, those in vain too. */
const condensedIn = (log: Logs.Log) => [
  ...RunLog.only(log, "ContextCompacted"),
  ...RunLog.only(log, "CompactionDiscarded")
]

/** Of the runs in these sessions that were started at `since` or later. */
export const of = (logs: ReadonlyArray<Logs.Log>, since = -Infinity): ReturnType<typeof RunStats.summarize> => {
  const sessions = logs.map((log) => runsOf(log).filter(([started]) => started!.at >= since)).filter((_) =>
    _.length > 0
  )
  const runs = sessions.flat()
  const events = runs.flat()
  const only = <T extends RunEvent.Durable["_tag"]>(tag: T) => RunLog.only(events, tag)
  const ends = runs.map(endOf)
  const known = ends.filter((end) => end !== undefined)
  const ended = (tag: RunEvent.End["_tag"]) => known.filter((end) => end._tag === tag)
  const over = ["RunCompleted", "RunLimited", "RunFailed", "RunAborted"] as const
  const isOver = known.filter(({ _tag }) => over.some((tag) => tag === _tag)).length
  const reasonOf = (end: RunEvent.End) => end._tag === "RunFailed" ? end.error.reason._tag : end.reason
  const per = (of: (run: Logs.Log) => number) => runs.map(of)
  const turns = per((run) => RunLog.only(run, "AssistantMessage").length)
  const retries = per((run) =>
    RunLog.only(run, "AttemptDiscarded").filter(({ delay }) => delay !== undefined).length
    + sum(condensedIn(run).map(({ isOfRun, lost }) => isOfRun === false ? 0 : lost?.retries ?? 0))
  )
  const compactions = per((run) =>
    RunLog.only(run, "ContextCompacted").filter(({ isOfRun }) => isOfRun !== false).length
  )
  const discarded = only("AttemptDiscarded")
  const answers = only("AssistantMessage")
  const settled = only("ToolSettled")
  const ran = runs.flatMap(ranOf)
  const timed = runs.flatMap(timedTurnsOf)
  const waits = runs.flatMap(waitsOf)
  const cutOff = runs.flat().filter(RunEvent.isEnd).flatMap((end) => RunEvent.cutOffOf(end) ?? [])
  const usages = [...discarded, ...cutOff, ...answers, ...condensedIn(events)].flatMap(({ usage }) => usage ?? [])
  const asked = [
    ...answers.map(({ model, usage }) => ({ model, usage, calls: 1 })),
    ...cutOff.map(({ model, usage }) => ({ model, usage, calls: 0 })),
    ...discarded.flatMap(({ model, usage }) => model === undefined ? [] : [{ model, usage, calls: 0 }])
  ].map(({ model, ...rest }) => ({ ...rest, name: `${model.provider}/${model.name}` }))
  return {
    sessions: sessions.length,
    runs: runs.length,
    agents: countBy(only("RunStarted").map(({ agent }) => agent)),
    drives: sum(runs.map((run) => drivesOf(run).length)),
    ends: {
      completed: ended("RunCompleted").length,
      limited: ended("RunLimited").length,
      suspended: ended("RunSuspended").length,
      failed: ended("RunFailed").length,
      aborted: ended("RunAborted").length,
      unfinished: runs.length - known.length
    },
    reasons: Object.fromEntries(
      Object.entries(words).flatMap(([tag, word]) => {
        const found = ended(tag as RunEvent.End["_tag"])
        return found.length === 0 ? [] : [[word, countBy(found.map(reasonOf))]]
      })
    ),
    successRate: isOver === 0 ? null : ended("RunCompleted").length / isOver,
    turns: spread(turns),
    retries: {
      ...spread(retries),
      runs: retries.filter((n) => n > 0).length,
      lostTime: sum(discarded.map(({ delay = 0, duration = 0 }) => delay + duration))
        + sum(condensedIn(events).map(({ lost }) => lost?.lostTime ?? 0))
    },
    compactions: {
      ...spread(compactions),
      runs: compactions.filter((n) => n > 0).length,
      perHundredTurns: sum(turns) === 0 ? null : 100 * sum(compactions) / sum(turns)
    },
    latency: {
      model: times(runs.flatMap(modelTimesOf)),
      firstPart: times(timed.map(({ latency }) => latency.firstPart)),
      tools: times(ran.map(({ duration }) => duration)),
      approvals: times(waits.map(({ wait }) => wait)),
      runs: times(known.map(({ totals }) => totals.duration))
    },
    tools: Object.fromEntries(
      [...new Set(ran.map(({ tool }) => tool))].map((name) => {
        const calls = ran.filter(({ tool }) => tool === name)
        const errors = calls.filter(({ outcome }) => outcome._tag !== "Succeeded").length
        return [name, { ...times(calls.map(({ duration }) => duration)), errors }]
      })
    ),
    approvals: {
      asked: only("ApprovalRequested").length,
      approved: waits.filter(({ approved, result }) => approved && result === undefined).length,
      answered: waits.filter(({ approved, result }) => approved && result !== undefined).length,
      denied: waits.filter(({ approved }) => !approved).length
    },
    errors: {
      attempts: countBy(discarded.map(({ error }) => error._tag)),
      tools: countBy(settled.flatMap(({ outcome }) =>
        outcome._tag === "Succeeded"
          ? []
          : outcome._tag === "NotExecuted"
          ? [`NotExecuted(${outcome.reason})`]
          : [outcome._tag]
      )),
      runs: countBy(ended("RunFailed").map(reasonOf))
    },
    promptTokens: spread(answers.map(({ usage }) => usage.inputTokens)),
    events: spread(sessions.map((runs) => runs.flat().length)),
    tokens: tokens(usages),
    cost: cost(usages),
    unpriced: answers.filter(({ usage }) => usage.cost === undefined).length,
    models: Object.fromEntries(
      [...new Set(asked.map(({ name }) => name))].map((name) => {
        const calls = asked.filter((one) => one.name === name)
        const usages = calls.map(({ usage }) => usage)
        return [name, { calls: sum(calls.map(({ calls }) => calls)), ...tokens(usages), cost: cost(usages) }]
      })
    )
  }
}
