/**
 * Limits, time limits and tool policy of a run, with their defaults: data, decided before a run starts.
 *
 * Does not own what happens when a limit is reached; that is `RunDecision` and the loop.
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as CallQuota from "./state/CallQuota.ts"

const limitFields = {
  maxTurns: Schema.optionalKey(Schema.Finite),
  maxToolRounds: Schema.optionalKey(Schema.Finite),
  maxToolCalls: Schema.optionalKey(Schema.Finite),
  maxErrors: Schema.optionalKey(Schema.Finite),
  maxCompactions: Schema.optionalKey(Schema.Finite),
  maxTokens: Schema.optionalKey(Schema.Finite),
  /** in the unit of the application's prices */
  maxCost: Schema.optionalKey(Schema.Finite),
  /** milliseconds of drive time */
  maxDuration: Schema.optionalKey(Schema.Finite)
}

/** Limits as they are stored: only those that are set, times in milliseconds. An absent one does not limit. */
export const Limits = Schema.Struct(limitFields)
export type Limits = typeof Limits.Type

/**
 * Limits as they are given. Each is counted from the log over all drives of a run, and checked before the spending.
 * Counts are whole numbers; `maxTurns`, `maxTokens` and `maxDuration` are at least 1, the others at least 0, where 0
 * means none at all. `Infinity` lifts a limit. Anything else is `InvalidInput`.
 */
export interface LimitsInput {
  /** settled model calls, each with its tool round; the calls of the last one do not run. Default 20. */
  readonly maxTurns?: number | undefined
  /** rounds in which a call was started, or a person gave the result of one. Default: no limit. */
  readonly maxToolRounds?: number | undefined
  /** calls that were started, or whose result a person gave. Default: no limit. */
  readonly maxToolCalls?: number | undefined
  /**
   * attempts at model calls of turns that do not count, and tool calls that failed or timed out; this many are tolerated.
   * Default 20.
   */
  readonly maxErrors?: number | undefined
  /** compactions in a row, without an answer between them. Default 3. */
  readonly maxCompactions?: number | undefined
  /** tokens in and out, including those of compactions and of runs that work for its calls. Default: no limit. */
  readonly maxTokens?: number | undefined
  /**
   * their cost, more than 0, in the unit of the application's `Prices`, which must know the model. Default: no limit.
   */
  readonly maxCost?: number | undefined
  /** the time that a process works on the run, without time spent waiting for people. Default: no limit. */
  readonly maxDuration?: Duration.Input | undefined
}

/** `base` with what `over` sets; `Infinity` lifts a limit. */
export const merge = (base: Limits, over: Limits): Limits =>
  Object.fromEntries(Object.entries({ ...base, ...over }).filter(([, limit]) => limit !== Infinity))

/** The limits that apply unless something else is set; what is missing here has no limit. */
export const defaultLimits: Limits = { maxTurns: 20, maxErrors: 20, maxCompactions: 3 }

const count = (least: number) => ({
  says: `a whole number of at least ${least}`,
  takes: (value: number) => Number.isInteger(value) && value >= least
})

/** Which values each limit accepts besides `Infinity`. */
export const limitRules: Record<
  keyof Limits,
  { readonly says: string; readonly takes: (value: number) => boolean }
> = {
  maxTurns: count(1),
  maxToolRounds: count(0),
  maxToolCalls: count(0),
  maxErrors: count(0),
  maxCompactions: count(0),
  maxTokens: count(1),
  maxCost: { says: "a number of more than 0", takes: (value) => Number.isFinite(value) && value > 0 },
  maxDuration: { says: "a duration of at least 1 millisecond", takes: (value) => value >= 1 }
}

/** Which tools are offered and how a round runs. */
export const ToolPolicy = Schema.Struct({
  /** `false` offers no tools. Default `true`. */
  enabled: Schema.optionalKey(Schema.Boolean),
  /**
   * How many calls of one message may run at once; `Infinity`, stored as the greatest safe integer, for all. Default 1.
   */
  maxParallel: Schema.optionalKey(Schema.Finite),
  /** `false` ends the run with `ToolFailed` when a call fails. Default `true`. */
  continueOnError: Schema.optionalKey(Schema.Boolean),
  /** Whether calls of tools that do not say themselves whether they need approval ask for it. Default `false`. */
  requireApprovalByDefault: Schema.optionalKey(Schema.Boolean),
  /** Milliseconds until a question expires; its call is then denied. Default: it never expires. */
  approvalTimeout: Schema.optionalKey(Schema.Finite),
  /** The tools that may be offered, by name. Default: all of the agent's. */
  allowList: Schema.optionalKey(Schema.Array(Schema.String)),
  /**
   * How many calls of a run may start, by tool or all together: `{ pay: 1, "*": 10 }`, or `10`. Calls beyond that
   * settle as `NotExecuted(limit)`, and the run goes on. Default: no limit.
   */
  maxCallsPerRun: Schema.optionalKey(CallQuota.CallQuota)
})
export type ToolPolicy = typeof ToolPolicy.Type

/** A tool policy as it is given, with its time as a duration; an undefined field counts as left out. */
export type ToolPolicyInput = {
  readonly [K in keyof ToolPolicy]?: (K extends "approvalTimeout" ? Duration.Input : ToolPolicy[K]) | undefined
}

type PolicyPart = { readonly [K in keyof ToolPolicy]?: ToolPolicy[K] | undefined }

/** `base` and `over` together, as JSON holds them: the guards of both apply, neither replaces the other. */
export const narrow = (base: PolicyPart, over: PolicyPart): ToolPolicy => {
  const allowList = base.allowList === undefined || over.allowList === undefined
    ? over.allowList ?? base.allowList
    : base.allowList.filter((name) => over.allowList?.includes(name))
  const maxCallsPerRun = CallQuota.narrow(base.maxCallsPerRun, over.maxCallsPerRun)
  const maxParallel = over.maxParallel ?? base.maxParallel
  const approvalTimeout = Math.min(base.approvalTimeout ?? Infinity, over.approvalTimeout ?? Infinity)
  return {
    ...(base.enabled === false || over.enabled === false ? { enabled: false } : {}),
    ...(base.continueOnError === false || over.continueOnError === false ? { continueOnError: false } : {}),
    ...(base.requireApprovalByDefault === true || over.requireApprovalByDefault === true
      ? { requireApprovalByDefault: true }
      : {}),
    ...(approvalTimeout === Infinity ? {} : { approvalTimeout }),
    ...(allowList === undefined ? {} : { allowList }),
    ...(maxCallsPerRun === undefined ? {} : { maxCallsPerRun }),
    ...(maxParallel === undefined ? {} : { maxParallel: Math.min(maxParallel, Number.MAX_SAFE_INTEGER) })
  }
}

/**
 * Time limits of single steps. A limit that passes is a retryable error for a model call, an outcome for a tool, and a
 * failed compaction for a strategy.
 */
export interface Timeouts {
  /** one attempt at a model call, whole. Default 120 seconds. */
  readonly call: Duration.Duration
  /** from the request to the first part of content; a ping, an id or an empty delta does not count. Default 60 seconds. */
  readonly firstPart: Duration.Duration
  /** between two parts of content. Default 60 seconds. */
  readonly gap: Duration.Duration
  /** one tool call. Default 120 seconds. */
  readonly tool: Duration.Duration
  /** for calls of single tools, by name, instead of `tool` */
  readonly tools: Readonly<Record<string, Duration.Duration | undefined>>
  /** one compaction by one strategy, whatever the strategy calls for it. Default 10 minutes. */
  readonly compaction: Duration.Duration
}

/** Time limits as they are given; an undefined field counts as left out. */
export type TimeoutsInput<Tool extends string = string> =
  & { readonly [K in Exclude<keyof Timeouts, "tools">]?: Duration.Input | undefined }
  & { readonly tools?: ToolTimesInput<Tool> | undefined }

/** By the names of tools; with no tools, none is accepted. */
type ToolTimesInput<Tool extends string> = [Tool] extends [never] ? Readonly<Record<string, never>>
  : { readonly [T in Tool]?: Duration.Input | undefined }

/** The time limits that apply unless something else is set. */
export const defaultTimeouts: Timeouts = {
  call: Duration.seconds(120),
  firstPart: Duration.seconds(60),
  gap: Duration.seconds(60),
  tool: Duration.seconds(120),
  tools: {},
  compaction: Duration.minutes(10)
}

/** `base` with whatever `over` sets; single tools are merged one by one. */
export const within = <A extends Partial<Timeouts>>(base: A, over: Partial<Timeouts>): A => ({
  ...base,
  ...over,
  ...(over.tools === undefined ? {} : { tools: { ...base.tools, ...over.tools } })
})

/** How long a call of this tool may take. */
export const callTimeout = ({ tool, tools }: Timeouts, name: string): Duration.Duration =>
  (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? tool
