/**
 * Turns what the AI SDK's chat transport sends into what an agent is asked for.
 *
 * Does not own who may ask for it.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Message from "../Message.ts"
import * as RunError from "../RunError.ts"
import type * as RunInput from "../RunInput.ts"
import * as OpenCall from "../state/OpenCall.ts"
import * as UiContent from "./UiContent.ts"
import { runIdOf } from "./UiWriter.ts"

/** A new message for a session, or answers to questions of its run, which then goes on. */
export type Request =
  | { readonly _tag: "Ask"; readonly sessionId: string; readonly input: RunInput.RunInput }
  | { readonly _tag: "Answer"; readonly sessionId: string; readonly decisions: ReadonlyArray<RunInput.DecideInput> }

export interface Options {
  /**
   * The tools whose calls the page answers, by name: the output that it gives in the last step becomes the `result` of a
   * decision, an error becomes a no. Default none: what a page says about other calls is not believed.
   */
  readonly answers?: ReadonlyArray<string> | undefined
}

const Part = Schema.Struct({
  type: Schema.String,
  toolCallId: Schema.optionalKey(Schema.String),
  output: Schema.optionalKey(Schema.Unknown),
  errorText: Schema.optionalKey(Schema.Unknown),
  text: Schema.optionalKey(Schema.String),
  mediaType: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
  filename: Schema.optionalKey(Schema.NullOr(Schema.String)),
  state: Schema.optionalKey(Schema.String),
  approval: Schema.optionalKey(Schema.Struct({
    id: Schema.String,
    approved: Schema.optionalKey(Schema.Boolean),
    reason: Schema.optionalKey(Schema.String)
  }))
})

const UiMessage = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  role: Schema.Literals(["system", "user", "assistant"]),
  parts: Schema.Array(Part)
})
type UiMessage = typeof UiMessage.Type

/** As the transport sends it, or with only the last message, as `message`, which its `prepareSendMessagesRequest` may send. */
const Body = Schema.Struct({
  id: Schema.String,
  message: Schema.optionalKey(UiMessage),
  messages: Schema.optionalKey(Schema.Array(UiMessage)),
  messageId: Schema.optionalKey(Schema.String),
  trigger: Schema.optionalKey(Schema.String)
})

const decode = Schema.decodeUnknownEffect(Body)

const wrong = (problem: string) => RunError.invalidInput("body", `the body ${problem}`)

/**
 * Only the last message counts, or an earlier answer whose questions are answered: the session has the others. A user's
 * message has its id as `runId`, so that the same request sent twice is one run. A message asked for again
 * (`regenerate-message`) or edited starts another run, after what was said since. Anything else is `InvalidInput`.
 */
export const read = (body: unknown, { answers = [] }: Options = {}): Effect.Effect<Request, RunError.RunError> =>
  Effect.flatMap(
    Effect.mapError(decode(body), (error) => wrong(`is not a chat request: ${error.message}`)),
    ({ id: sessionId, message, messageId, messages, trigger }) => {
      const named = messageId === undefined
        ? undefined
        : messages?.findLast(({ id, role }) => role === "assistant" && id === messageId)
      const last = message ?? named ?? messages?.at(-1)
      const isNew = trigger !== "regenerate-message" && messageId !== last?.id
      if (last?.role === "user") return ask(sessionId, last, isNew)
      if (last?.role === "assistant") return answer(sessionId, last, answers)
      return Effect.fail(wrong("must end with a user message, or with an answer to a question"))
    }
  )

const ask = (sessionId: string, { id, parts }: UiMessage, isNew: boolean) =>
  Effect.map(Effect.forEach(parts.filter(({ type }) => !type.startsWith("data-")), partOf), (content): Request => {
    const runId = isNew ? id : undefined
    return { _tag: "Ask", sessionId, input: { sessionId, runId, input: [{ role: "user", content }] } }
  })

const partOf = (
  { filename, mediaType, text, type, url }: typeof Part.Type
): Effect.Effect<Message.UserPart, RunError.RunError> => {
  if (type === "text" && text !== undefined) return Effect.succeed({ type, text })
  if (type !== "file" || mediaType === undefined || url === undefined) {
    return Effect.fail(
      wrong(`has a part of type "${type}" in its last message; a user message has only text and file parts`)
    )
  }
  return Effect.succeed({ type, mediaType, data: url, ...(filename == null ? {} : { fileName: filename }) })
}

const answer = (
  sessionId: string,
  { id, parts }: UiMessage,
  answers: ReadonlyArray<string>
): Effect.Effect<Request, RunError.RunError> => {
  const runId = id === undefined ? undefined : runIdOf(id)
  const lastStep = parts.findLastIndex(({ type }) => type === "step-start")
  const decisions = parts.flatMap((part, at): ReadonlyArray<RunInput.DecideInput> => {
    const { approval, state, toolCallId, type } = part
    if (state === "approval-responded" && approval?.approved !== undefined) {
      return [{ sessionId, approvalId: approval.id, approved: approval.approved, reason: approval.reason }]
    }
    const tool = at > lastStep ? answers.find((tool) => type === `tool-${tool}`) : undefined
    // the page forgets the id of a question that it answers in this way: it is taken for an answer to the first one about the call, and
    // refused (`ApprovalNotOpen`) where that was asked about once more, with other arguments
    if (tool === undefined || runId === undefined || toolCallId === undefined) return []
    // the page only claims which tool's call it is
    const call = { sessionId, approvalId: OpenCall.approvalId(runId, UiContent.callIdOf(runId, toolCallId)), tool }
    if (state === "output-available") return [{ ...call, approved: true, result: resultIn(part) }]
    const { errorText } = part
    const reason = typeof errorText === "string" ? errorText : undefined
    return state === "output-error" ? [{ ...call, approved: false, reason }] : []
  })
  return decisions.length === 0
    ? Effect.fail(wrong("ends with an assistant message that answers no question"))
    : Effect.succeed({ _tag: "Answer", sessionId, decisions })
}

/** `undefined` gets lost in transit. The rest is JSON, since the body was. */
const resultIn = ({ output }: typeof Part.Type): Schema.Json => (output ?? null) as Schema.Json
