/**
 * Whether a call needs a person's yes, by what its tool says of itself. A rule that breaks is a yes.
 *
 * Does not own who is asked, nor what else may ask for one; the loop does.
 */
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as Foreign from "../../run/Foreign.ts"
import { NeedsResult } from "../../services/NeedsResult.ts"
import { ResultLimit } from "../../services/ResultLimit.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as Warning from "../../services/Warning.ts"
import * as KnownHandler from "./KnownHandler.ts"
import * as Settling from "./Settling.ts"
import * as ToolCodecs from "./ToolCodecs.ts"

/** Loaded for the first rule that reads messages: it brings the schemas of effect/ai's prompts. */
const promptMessages = Effect.promise(() => import("../effectai/PromptMessages.ts"))

/** Of a tool that says nothing, `byDefault`. Where the arguments do not fit, the outcome of the call, as if it had run. */
export const asks = (
  handlers: ToolExecutor.Handlers,
  tool: Tool.Any,
  call: ToolExecutor.Candidate,
  byDefault: boolean
): Effect.Effect<ToolExecutor.Asks> => {
  const { annotations, needsApproval: rule = byDefault } = tool
  const said = annotations.mapUnsafe
  // `Destructive` is true by default; only a tool that sets it explicitly counts
  const isAlways = (said.has(Tool.Destructive.key) && Context.get(annotations, Tool.Destructive)) ||
    (said.has(NeedsResult.key) && Context.get(annotations, NeedsResult))
  if (rule === false && !isAlways) return no
  const asked = (params: unknown): Effect.Effect<boolean> =>
    typeof rule === "boolean" || isAlways
      ? Effect.succeed(true)
      : Effect.flatMap(promptMessages, ({ fromMessage }) => {
        const answer = rule(params, { toolCallId: call.callId, messages: call.messages().map(fromMessage) })
        return Effect.map(Foreign.isEffect(answer) ? answer : Effect.succeed(answer), isYes)
      })
  const { decode, unfit } = ToolCodecs.of(tool)
  const settled = (issue: SchemaIssue.Issue) =>
    Effect.flatMap(
      Effect.exit(unfit(Cause.fail(issue))),
      (exit) => Effect.map(ResultLimit, (limit) => Settling.of(tool, call.params, exit, limit).outcome)
    )
  const decoded = KnownHandler.inContext(handlers, tool, Effect.suspend(() => decode(call.params)))
  const question: Effect.Effect<ToolExecutor.Asks> = Effect.matchEffect(decoded, {
    onFailure: settled,
    onSuccess: asked
  })
  return Effect.catchCause(question, (cause) =>
    Effect.as(
      Warning.warn(
        `needsApproval of the tool "${call.name}" ${Warning.howOf(cause)} (call ${call.callId}); so people are asked`
      ),
      true
    ))
}

const no = Effect.succeed(false)

/** A rule is the application's code, which may have no types: only its `false` is a no, not nothing, and not a promise of one. */
const isYes = (answer: unknown): boolean => answer !== false
