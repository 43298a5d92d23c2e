/** `fiberloop approve` and `fiberloop deny`: answer a waiting call. They run nothing; `fiberloop resume`, or its program, goes on. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import type * as Scope from "effect/Scope"
import { count } from "../../run/Quantity.ts"
import type * as RunResult from "../../run/RunResult.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as IdleAgent from "../agent/IdleAgent.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as GoingOn from "../GoingOn.ts"
import { badInput, badValue, codes, type Ended, Refusal } from "../Refusal.ts"
import * as InProgram from "../render/InProgram.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderApprovals from "../render/RenderApprovals.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as ToolLine from "../render/ToolLine.ts"
import * as KeptRuns from "../session/KeptRuns.ts"
import * as KeptSession from "../session/KeptSession.ts"
import * as SessionAgent from "../session/SessionAgent.ts"
import type { Settings } from "../Settings.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one */
  readonly session: string
  /** the id of a question, or of its call; absent: the one that waits */
  readonly approval: string | undefined
  readonly approved: boolean
  readonly by: string | undefined
  readonly reason: string | undefined
  /** JSON */
  readonly params: string | undefined
  readonly result: string | undefined
}

/** The typed parts of the answer. */
interface Said {
  readonly by: string
  readonly reason?: string
  readonly params?: Json
  readonly result?: Json
}

/** The question that an answer is for. */
interface Asked {
  /** the session that was named, or the one below it that asks */
  readonly sessionId: string
  readonly approvalId: string
  /** undefined where it does not wait */
  readonly waiting: RunResult.Approval | undefined
}

const decide = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { approved, place } = options
  const said = yield* saidIn(options)
  const kept = yield* KeptSession.find(place, options.session)
  const { sessionId } = kept.info
  const agent = yield* IdleAgent.make(place, kept.store)
  const refused = Effect.mapError(ErrorWords.refusalFrom(sessionId, ", which has not recorded the answer: try again"))
  const all = yield* refused(agent.approvals(sessionId))
  const asked = yield* find(options, kept, all)
  yield* check(kept, asked, said)
  yield* refused(agent.decide({ sessionId: asked.sessionId, approvalId: asked.approvalId, approved, ...said }))
  yield* tell(options, asked, said)
  yield* tellWhatWaits(place, sessionId, all.filter(({ id }) => id !== asked.approvalId).length)
  yield* tellWhatFollows(place, kept)
})

const saidIn = Effect.fnUntraced(function*(
  { by = "command", params: typedParams, reason, result: typedResult }: Options
): Effect.fn.Return<Said, Refusal> {
  const params = yield* json(typedParams, notParams)
  const result = yield* json(typedResult, notResult)
  if (params !== undefined && result !== undefined) return yield* badValue(both)
  return {
    by,
    ...(reason === undefined ? {} : { reason }),
    ...(params === undefined ? {} : { params }),
    ...(result === undefined ? {} : { result })
  }
})

/** The question that was named, or the only one that waits. */
const find = Effect.fnUntraced(function*(
  options: Options,
  kept: KeptSession.Kept,
  all: ReadonlyArray<RunResult.Approval>
): Effect.fn.Return<Asked, Refusal, Output> {
  const { approval } = options
  const { sessionId } = kept.info
  if (approval === undefined) {
    if (all.length > 1) return yield* several(options, sessionId, all)
    const [waiting] = all
    return waiting === undefined
      ? yield* badInput(
        `session ${JSON.stringify(sessionId)} has no call that waits for an approval: ` +
          `${Invocation.of("approvals", [], Invocation.placeOf(options.place.flags))} lists those that do`
      )
      : { sessionId: waiting.sessionId, approvalId: waiting.id, waiting }
  }
  // a question asked below the session is named by its whole id
  const waiting = all.find((one) => one.id === approval || (one.callId === approval && one.sessionId === sessionId))
  return waiting === undefined
    ? { sessionId, approvalId: yield* whole(kept, approval), waiting }
    : { sessionId: waiting.sessionId, approvalId: waiting.id, waiting }
})

/** Checks arguments and results against the command's tools; those of another program are not known here. */
const check = Effect.fnUntraced(function*(kept: KeptSession.Kept, { waiting }: Asked, { params, result }: Said) {
  const info = waiting && (yield* Effect.mapError(kept.store.info(waiting.sessionId), ErrorWords.refusal))
  const owner = yield* SessionAgent.foreign({ ...kept, info: info ?? kept.info })
  if (owner === undefined) return
  if (params !== undefined) return yield* unknownTools(owner, "params", "edit the arguments")
  if (result !== undefined) return yield* unknownTools(owner, "result", "give the result")
})

const tell = ({ approved, place }: Options, { approvalId, sessionId, waiting }: Asked, said: Said) => {
  if (place.json) {
    const line = JSON.stringify({ sessionId, approvalId, tool: waiting?.tool, approved, ...said })
    return Print.print(`${TerminalText.json(line)}\n`)
  }
  const call = waiting === undefined
    ? TerminalText.line(approvalId)
    : ToolLine.call(waiting.tool, said.params ?? waiting.params)
  return Print.print(`${approved ? "✓" : "✗"} ${OpenCall.wordOf({ approved, ...said })}: ${call}\n`)
}

/** Names the other questions, which a run that goes on asks again or waits for. */
const tellWhatWaits = Effect.fnUntraced(function*({ flags }: Settings, sessionId: string, others: number) {
  if (others === 0) return
  const { stderr } = yield* Output
  const list = Invocation.of("approvals", ["--session", sessionId], flags)
  yield* stderr.write(`${count(others, "call")} still ${others === 1 ? "waits" : "wait"}: ${list}\n`)
})

/** Says which session to go on with, and in which program. */
const tellWhatFollows = Effect.fnUntraced(function*(place: Settings, kept: KeptSession.Kept) {
  const { stderr } = yield* Output
  const outer = yield* KeptRuns.outermost(kept)
  const { end, sessionId } = outer.info
  const how = (yield* SessionAgent.foreign(outer)) === undefined
    ? `with: ${Invocation.of("resume", [sessionId], [...place.flags, ...(yield* GoingOn.flagsOf(outer))])}`
    : `with it in its program: ${InProgram.resume(sessionId)}`
  // another process may be driving it
  yield* stderr.write(end === undefined ? `If no process goes on with it, go on ${how}\n` : `Go on ${how}\n`)
})

const json = (typed: string | undefined, problem: string): Effect.Effect<Json | undefined, Refusal> =>
  typed === undefined ? Effect.succeed(undefined) : Effect.try({
    try: () => JSON.parse(typed) as Json,
    catch: () => badValue(problem)
  })

const notParams = "--params is not JSON: give the arguments as one object, such as '{\"path\":\"a.txt\"}'"

const notResult = "--result is not JSON: put a string in quotes, such as '\"done by hand\"'"

const both = "--result cannot be combined with --params: with a result, nothing runs; leave one of them out"

const unknownTools = (owner: string, flag: "params" | "result", what: string): Refusal =>
  badInput(
    `--${flag} cannot be checked: the command does not know the tools of the agent ${JSON.stringify(owner)}; ` +
      `${what} in its program, with agent.decide({ ..., ${flag} })`
  )

/** The id of a question that does not wait: the last run's id, then its call's. */
const whole = Effect.fnUntraced(function*(kept: KeptSession.Kept, typed: string) {
  if (typed.includes("/")) return typed
  const run = yield* KeptRuns.lastStarted(kept)
  return run === undefined ? typed : `${run.runId}/${typed}`
})

/** Lists what waits, so that the user can name one. */
const several = Effect.fnUntraced(function*(
  { approved, place }: Options,
  sessionId: string,
  waiting: ReadonlyArray<RunResult.Approval>
) {
  const { stderr } = yield* Output
  const now = yield* Clock.currentTimeMillis
  yield* stderr.write(
    waiting.flatMap((one) => RenderApprovals.question(one, now, sessionId)).map((line) => `${line}\n`).join("")
  )
  const command = Invocation.of(approved ? "approve" : "deny", [
    sessionId,
    RenderApprovals.nameIn(waiting[0]!, sessionId)
  ], place.flags)
  return yield* new Refusal({
    line: `${count(waiting.length, "call")} wait for an approval, name one of them: ${command}`,
    code: codes.usage
  })
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(decide(options)))
