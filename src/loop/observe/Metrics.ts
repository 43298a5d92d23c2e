/** The metrics of runs, in seconds and tokens; those that the semantic conventions have by their names and buckets. */
import * as Conventions from "./Conventions.ts"
import * as Family from "./Family.ts"

/** Of the conventions, for durations of an operation, in seconds. */
const operationSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const runSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
const counts = [0, 1, 2, 3, 5, 8, 13, 20, 30, 50, 100]
/** Of the conventions. */
const tokens = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

/** by agent, end and reason; the ends of drives: a run that was resumed has several */
export const runs = Family.counter("fiberloop.runs", "Drives of runs that ended")
/** by agent */
export const live = Family.gauge("fiberloop.runs.live", "Runs that are driven in this process")
/** by agent and end; of one drive */
export const runDuration = Family.histogram(
  "fiberloop.run.duration",
  "Time of a drive, without waiting for people",
  "s",
  runSeconds
)
/** by agent; of one drive */
export const turns = Family.histogram("fiberloop.run.turns", "Turns of a drive", "{turn}", counts)
/** by agent; of one drive */
export const toolRounds = Family.histogram("fiberloop.run.tool_rounds", "Tool rounds of a drive", "{round}", counts)

/** by provider, model, and error where it was discarded */
export const attempts = Family.counter("fiberloop.attempts", "Tries at model calls")
/** by error */
export const retries = Family.counter("fiberloop.retries", "Tries at model calls that are tried again")
/** by strategy */
export const compactions = Family.counter("fiberloop.compactions", "Compactions of a context")
/** by provider, model and error where it failed; of one try */
export const modelDuration = Family.histogram(
  Conventions.operationDuration,
  "GenAI operation duration.",
  "s",
  operationSeconds
)
/** by provider and model */
export const firstChunk = Family.histogram(
  Conventions.operationTimeToFirstChunk,
  "Time to receive the first chunk, from the request on.",
  "s",
  operationSeconds
)

/** by tool and outcome; a tool that the agent does not have is `_OTHER` */
export const toolCalls = Family.counter("fiberloop.tool.calls", "Tool calls that have an outcome")
/** by tool and outcome; of handlers that ran */
export const toolDuration = Family.histogram("fiberloop.tool.duration", "Time of a tool call", "s", operationSeconds)

/** by provider, model and `input` or `output`; of one try */
export const tokenUsage = Family.histogram(
  Conventions.tokenUsage,
  "Number of input and output tokens used.",
  "{token}",
  tokens
)
/** by provider, model and kind: input holds what was read from and written to a cache, output holds reasoning */
export const tokensByKind = Family.counter("fiberloop.tokens", "Tokens used")
/** by provider and model, in the unit of the application's prices */
export const cost = Family.counter("fiberloop.cost", "What tokens cost")

/** by agent */
export const approvalsWaiting = Family.gauge(
  "fiberloop.approvals.waiting",
  "Questions to people, of runs in this process"
)
/** by agent and answer */
export const approvals = Family.counter("fiberloop.approvals", "Answers of people")
