/**
 * The metrics of runs, in seconds and tokens; those that the semantic conventions define have their names and buckets.
 *
 * Does not own what counts when (`Meter`).
 */
import type * as Message from "../../run/Message.ts"
import * as Conventions from "./Conventions.ts"
import * as Family from "./Family.ts"
import * as Provider from "./Provider.ts"

/** Of the conventions, for durations of an operation, in seconds. */
const operationSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const runSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
const counts = [0, 1, 2, 3, 5, 8, 13, 20, 30, 50, 100]
/** Of the conventions. */
const tokens = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

const runs = Family.counter("fiberloop.runs", "Drives of runs that ended")
const live = Family.gauge("fiberloop.runs.live", "Runs that are live in this process")
const lost = Family.counter("fiberloop.runs.lost", "Drives of runs whose end the store did not take")
const runDuration = Family.histogram(
  "fiberloop.run.duration",
  "Duration of a drive, without the time spent waiting for people",
  "s",
  runSeconds
)
const turns = Family.histogram("fiberloop.run.turns", "Turns of a drive", "{turn}", counts)
const toolRounds = Family.histogram("fiberloop.run.tool_rounds", "Tool rounds of a drive", "{round}", counts)
const approvalsWaiting = Family.gauge("fiberloop.approvals.waiting", "Approvals that runs in this process wait for")
const approvalsAsked = Family.counter("fiberloop.approvals.asked", "Approvals that people were asked for")
const approvals = Family.counter("fiberloop.approvals", "What became of approvals")

/** Of the runs of an agent. */
export const ofAgent = Family.once((agent) => {
  const attributes = { [Conventions.agentName]: agent }
  return {
    live: live(attributes),
    turns: turns(attributes),
    toolRounds: toolRounds(attributes),
    /** by end and reason, `completed stop` */
    ended: Family.once((how) => {
      const [end = "", reason = ""] = how.split(" ")
      return { count: runs({ ...attributes, end, reason }), duration: runDuration({ ...attributes, end }) }
    }),
    /** by the tag of the error */
    lost: Family.once((error) => lost({ ...attributes, [Conventions.errorType]: error })),
    waiting: approvalsWaiting(attributes),
    asked: approvalsAsked(attributes),
    approved: approvals({ ...attributes, answer: "approved" }),
    answered: approvals({ ...attributes, answer: "answered" }),
    denied: approvals({ ...attributes, answer: "denied" }),
    /** nobody answered in time */
    expired: approvals({ ...attributes, answer: "expired" }),
    /** its call was settled without an answer: by a new message, an abort, a limit */
    unanswered: approvals({ ...attributes, answer: "unanswered" })
  }
})

const attempts = Family.counter("fiberloop.attempts", "Attempts at model calls")
const retries = Family.counter("fiberloop.retries", "Attempts at model calls that are retried")
const duration = Family.histogram(Conventions.operationDuration, "GenAI operation duration.", "s", operationSeconds)
const firstChunk = Family.histogram(
  Conventions.operationTimeToFirstChunk,
  "Time to receive the first chunk, from the request on.",
  "s",
  operationSeconds
)
const tokenUsage = Family.histogram(
  Conventions.tokenUsage,
  "Number of input and output tokens used.",
  "{token}",
  tokens
)
const tokensByKind = Family.counter("fiberloop.tokens", "Tokens used")
const cost = Family.counter("fiberloop.cost", "What tokens cost, in the unit of the application's prices")

/** `input` holds what was read from and written to a cache, `output` holds reasoning. */
const spending = (attributes: Family.Attributes) => ({
  input: tokensByKind({ ...attributes, kind: "input" }),
  output: tokensByKind({ ...attributes, kind: "output" }),
  cachedInput: tokensByKind({ ...attributes, kind: "cached_input" }),
  cacheWrite: tokensByKind({ ...attributes, kind: "cache_write" }),
  reasoning: tokensByKind({ ...attributes, kind: "reasoning" }),
  cost: cost(attributes)
})
type Spending = ReturnType<typeof spending>

/** What is spent on models that are not known. */
export const onCompaction: Spending = spending({})

const make = ({ name, provider }: Message.ModelRef) => {
  const attributes = {
    [Conventions.operationName]: "chat",
    [Conventions.providerName]: Provider.nameOf(provider),
    [Conventions.requestModel]: name
  }
  const tried = (attributes: Family.Attributes) => ({
    count: attempts(attributes),
    duration: duration(attributes)
  })
  return {
    attributes,
    settled: tried(attributes),
    /** by the tag of the error */
    discarded: Family.once((error) => tried({ ...attributes, [Conventions.errorType]: error })),
    firstChunk: firstChunk(attributes),
    /** of one try */
    inputUsage: tokenUsage({ ...attributes, [Conventions.tokenType]: "input" }),
    outputUsage: tokenUsage({ ...attributes, [Conventions.tokenType]: "output" }),
    spending: spending(attributes)
  }
}

export type OfModel = ReturnType<typeof make>

const byProvider = new Map<string, Map<string, OfModel>>()

/** Of the calls of a model. */
export const ofModel = (model: Message.ModelRef): OfModel => {
  const { name, provider } = model
  let models = byProvider.get(provider)
  if (models === undefined) byProvider.set(provider, models = new Map())
  let known = models.get(name)
  if (known === undefined) models.set(name, known = make(model))
  return known
}

/** By the tag of the error. */
export const retried = Family.once((error) => retries({ [Conventions.errorType]: error }))

const compactions = Family.counter("fiberloop.compactions", "Compactions of a context")

/** By strategy. */
export const compacted = Family.once((strategy) => compactions({ strategy }))

const toolCalls = Family.counter("fiberloop.tool.calls", "Tool calls that have an outcome")
const toolDuration = Family.histogram("fiberloop.tool.duration", "Duration of a tool call", "s", operationSeconds)

/** Of the calls of a tool, by outcome. */
export const ofTool = Family.once((tool) =>
  Family.once((outcome) => {
    const attributes = { [Conventions.toolName]: tool, [Conventions.outcome]: outcome }
    return { count: toolCalls(attributes), duration: toolDuration(attributes) }
  })
)
