/** What a generated session is made of: messages, outcomes and errors, plain and odd ones. */
import type * as Message from "../../src/run/Message.ts"
import type * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as Odd from "./Odd.ts"

/** How much of what is generated is odd: between 0 (a tidy session) and 1. */
export interface Taste {
  readonly dice: Odd.Dice
  readonly oddness: number
}

const isOdd = ({ dice, oddness }: Taste) => dice.chance(oddness)

const metadata = (taste: Taste): { readonly metadata?: Message.Metadata } =>
  isOdd(taste) ? { metadata: taste.dice.pick(Odd.metadatas) } : {}

export const text = (taste: Taste, plain: string): Message.TextPart => ({
  type: "text",
  text: isOdd(taste) ? taste.dice.pick(Odd.texts) : plain,
  ...metadata(taste)
})

const file = (taste: Taste): Message.FilePart => ({
  type: "file",
  mediaType: "image/png",
  data: isOdd(taste) ? "https://example.com/a b.png" : "iVBORw0KGgo=",
  ...(isOdd(taste) ? { fileName: taste.dice.pick(Odd.texts) } : {}),
  ...metadata(taste)
})

/** A user's words. `mark` appears in each text that is not blank, so that it can be looked for. */
export const userContent = (taste: Taste, mark: string): ReadonlyArray<Message.UserPart> =>
  Array.from({ length: isOdd(taste) ? taste.dice.int(4) : 1 }, (_, i): Message.UserPart => {
    if (isOdd(taste) && taste.dice.chance(0.3)) return file(taste)
    const part = text(taste, "please")
    return part.text.trim() === "" ? part : { ...part, text: `«${mark}.${i}» ${part.text}` }
  })

const reasoning = (taste: Taste, mark: string): Message.ReasoningPart => ({
  type: "reasoning",
  text: taste.dice.chance(0.2) ? "" : text(taste, `thought ${mark}`).text,
  metadata: isOdd(taste)
    ? taste.dice.pick(Odd.metadatas)
    : { scripted: { signature: `signature ${mark}` } }
})

export const params = (taste: Taste): Message.ToolCallPart["params"] =>
  isOdd(taste) ? taste.dice.pick(Odd.jsons) : { q: `query ${taste.dice.int(1000)}` }

const call = (taste: Taste): Message.ToolCallPart => ({
  type: "tool-call",
  id: isOdd(taste) ? taste.dice.pick(Odd.callIds) : `call_${taste.dice.int(1e9)}`,
  name: isOdd(taste) ? taste.dice.pick(Odd.toolNames) : taste.dice.pick(["search", "pay", "read_file"]),
  params: params(taste),
  ...metadata(taste)
})

/** Calls that the provider ran itself, and usually their results, which need not come in the order of the calls. */
const allHosted = (taste: Taste): ReadonlyArray<Message.AssistantPart> => {
  const parts = Array.from({ length: 1 + taste.dice.int(2) }, () => hosted(taste)).flat()
  if (!taste.dice.chance(0.3)) return parts
  const [calls, results] = [parts.filter(isCall), parts.filter((part) => !isCall(part))]
  return [...calls, ...results.reverse()]
}

const isCall = ({ type }: Message.AssistantPart) => type === "tool-call"

/** A call that the provider ran itself, and usually its result. */
const hosted = (taste: Taste): ReadonlyArray<Message.AssistantPart> => {
  const made: Message.ToolCallPart = { ...call(taste), providerExecuted: true }
  if (taste.dice.chance(0.1)) return [made]
  const result = isOdd(taste) ? taste.dice.pick(Odd.jsons) : { hits: 1 }
  const { id, name } = made
  return [made, { type: "tool-result", id, name, result, isFailure: taste.dice.chance(0.2), providerExecuted: true }]
}

export const assistantContent = (taste: Taste, mark: string): ReadonlyArray<Message.AssistantPart> => {
  const { dice } = taste
  const out: Array<Message.AssistantPart> = []
  if (dice.chance(0.4)) out.push(reasoning(taste, mark))
  if (dice.chance(0.6)) out.push(text(taste, `answer ${mark}`))
  if (dice.chance(0.15)) out.push(...allHosted(taste))
  if (isOdd(taste) && dice.chance(0.3)) out.push(file(taste))
  if (dice.chance(0.5)) { for (let i = dice.int(4); i >= 0; i--) out.push(call(taste)) }
  if (isOdd(taste) && dice.chance(0.3)) out.push(reasoning(taste, `${mark} late`), text(taste, `end ${mark}`))
  if (out.length === 0 && !isOdd(taste)) out.push({ type: "text", text: `answer ${mark}` })
  return out
}

/** What an assistant of another system said: text, or in an odd log anything. */
const said = (taste: Taste, mark: string): ReadonlyArray<Message.AssistantPart> =>
  isOdd(taste) ? assistantContent(taste, mark) : [{ type: "text", text: `answer ${mark}` }]

export const outcome = (taste: Taste): ToolOutcome.ToolOutcome => {
  const { dice } = taste
  const result = isOdd(taste) ? dice.pick(Odd.jsons) : `result ${dice.int(1000)}`
  const words = isOdd(taste) ? dice.pick(Odd.texts) : "words"
  return dice.pick<ToolOutcome.ToolOutcome>([
    { _tag: "Succeeded", result },
    { _tag: "Succeeded", result },
    { _tag: "Succeeded", result, content: userContent(taste, "shown") },
    { _tag: "Failed", result },
    { _tag: "InvalidArguments", message: words },
    { _tag: "UnknownTool", available: ["search", words] },
    { _tag: "Denied", reason: words },
    { _tag: "TimedOut", limit: 1000 },
    { _tag: "Interrupted" },
    { _tag: "OutcomeUnknown" },
    { _tag: "NotEncodable", message: words },
    {
      _tag: "NotExecuted",
      reason: dice.pick(["truncated", "limit", "stopped", "superseded", "aborted", "failed"] as const)
    }
  ])
}

export const usage = ({ dice }: Taste): Usage.Usage => ({
  inputTokens: dice.int(1000),
  outputTokens: dice.int(100),
  ...(dice.chance(0.3) ? { cachedInputTokens: dice.int(100), reasoningTokens: dice.int(50) } : {}),
  ...(dice.chance(0.3) ? { cost: dice.int(100) } : {})
})

export const providerError = ({ dice }: Taste): RunError.ProviderReason | RunError.ProviderRefusal =>
  dice.pick<RunError.ProviderReason | RunError.ProviderRefusal>([
    { _tag: "RateLimited", message: "slow down", status: 429, retryAfter: 1000 },
    { _tag: "Overloaded", message: "busy", status: 503 },
    { _tag: "TimedOut", message: "late", scope: "gap" },
    { _tag: "StreamTruncated", message: "cut" },
    { _tag: "EmptyResponse", message: "empty" },
    { _tag: "ContextOverflow", message: "too long", status: 400 },
    { _tag: "Authentication", message: "who", status: 401 }
  ])

/** What a custom context manager may leave: a summary, or anything at all. */
export const replacement = (taste: Taste, mark: string): ReadonlyArray<Message.Message> => {
  const { dice } = taste
  const summary: Message.Message = { role: "user", content: [{ type: "text", text: `summary ${mark}` }] }
  if (!isOdd(taste)) return dice.pick([[summary], [summary, reply(`noted ${mark}`)], []])
  return Array.from({ length: dice.int(4) }, () =>
    dice.pick<Message.Message>([
      summary,
      { role: "user", content: userContent(taste, `summary ${mark}`) },
      { role: "assistant", content: assistantContent(taste, mark) },
      { role: "system", content: dice.pick(["facts", "", "\0"]) },
      { role: "tool", content: [{ type: "tool-result", id: "call_0", name: "pay", result: "ok", isFailure: false }] }
    ]))
}

const reply = (said: string): Message.Message => ({ role: "assistant", content: [{ type: "text", text: said }] })

/** What starts a run; `mark` appears in the words. */
export const input = (taste: Taste, mark: string, isFirst: boolean): RunInput.Effective => {
  const { dice } = taste
  const content = userContent(taste, mark)
  const history = Array.from({ length: isFirst && dice.chance(0.3) ? dice.int(5) : 0 }, (_, i) =>
    dice.chance(0.5)
      ? { role: "user" as const, content: userContent(taste, `history ${i}`) }
      : { role: "assistant" as const, content: said(taste, `history ${i}`) })
  return {
    messages: dice.chance(0.1) ? [{ role: "user", content }, { role: "user", content }] : [{ role: "user", content }],
    toolPolicy: {},
    limits: { maxTurns: 20 },
    ...(history.length === 0 ? {} : { history })
  }
}

const textsOf = (taste: Taste): ReadonlyArray<string> =>
  said(taste, "unfinished").flatMap((part) => part.type === "text" ? part.text : [])

export const end = (taste: Taste, _tag: RunEvent.End["_tag"], totals: RunEvent.Totals): RunEvent.Draft => {
  const { dice } = taste
  const mayBeCutOff = _tag !== "RunCompleted" && _tag !== "RunSuspended"
  const cutOff = mayBeCutOff && dice.chance(0.1) ? { model: dice.pick(Odd.models), usage: usage(taste) } : undefined
  const common = {
    totals: cutOff === undefined ? totals : { ...totals, usage: Usage.add(totals.usage, cutOff.usage) },
    ...(dice.chance(0.1) ? { leftBehind: ["pay"] } : {}),
    ...(cutOff === undefined ? {} : { cutOff }),
    ...(mayBeCutOff && dice.chance(0.5) ? { unfinished: textsOf(taste) } : {})
  }
  switch (_tag) {
    case "RunCompleted":
      return { _tag, reason: dice.pick(RunEvent.CompletedReason.literals), ...common }
    case "RunLimited":
      return { _tag, reason: dice.pick(RunEvent.LimitedReason.literals), ...common }
    case "RunSuspended":
      return { _tag, reason: "approval", ...common }
    case "RunFailed":
      return {
        _tag,
        error: dice.chance(0.5)
          ? { _tag: "RetryableError", reason: { _tag: "StoreUnavailable", message: "it was away" } }
          : { _tag: "NonRetryableError", reason: { _tag: "Unknown", message: "it broke" } },
        ...common
      }
    case "RunAborted":
      return { _tag, reason: dice.pick(RunEvent.AbortedReason.literals), ...common }
  }
}
