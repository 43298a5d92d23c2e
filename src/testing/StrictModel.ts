/**
 * A model that checks what it is asked: it compares every request with what the strictest provider accepts, and fails the
 * test that made an illegal one, even if the code under test swallows the error.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as FileCheck from "../run/FileCheck.ts"
import type * as Message from "../run/Message.ts"
import * as Delegating from "../services/Delegating.ts"
import * as Model from "../services/Model.ts"

/** What is illegal about a request, in words; empty when nothing is. */
export const violations = (request: Model.ModelRequest): ReadonlyArray<string> => {
  const { continues = false, messages, toolChoice, tools } = request
  const found: Array<string> = []
  const say = (at: number, what: string) => found.push(`message ${at} (${messages[at]?.role}): ${what}`)
  const conversation = messages.filter((message) => message.role !== "system")
  if (conversation.length === 0) found.push("there is no message but system ones")
  if (conversation[0] !== undefined && conversation[0].role !== "user") found.push("the first message is not a user's")
  const isOwn = conversation.at(-1)?.role === "assistant"
  if (isOwn && !continues) found.push("the last message is the assistant's own")
  if (continues && !isOwn) found.push("the last message is not the assistant's, and it is to go on with it")
  const names = tools.map((tool) => tool.name)
  if (names.length === 0 && toolChoice !== "none") found.push("there are no tools to choose from")
  if (new Set(names).size < names.length) found.push("two tools have one name")
  for (const name of names) if (!isName(name)) found.push(`the tool "${name}" has a name that is none: ${nameRule}`)
  if (names.length > 0 && typeof toolChoice === "object" && !names.includes(toolChoice.tool)) {
    found.push(`"${toolChoice.tool}" is not offered`)
  }
  const ids = new Set<string>()
  messages.forEach((message, at) => {
    const before = messages[at - 1]
    if (message.role === "system") {
      if (before !== undefined && before.role !== "system") say(at, "a system message in the conversation")
      if (message.content.trim() === "") say(at, "blank")
    } else {
      if (message.content.length === 0) say(at, "no content")
      if (message.role !== "tool" && before?.role === message.role) say(at, "two neighbours of one role")
    }
    for (const text of strings(message)) {
      if (!text.isWellFormed()) say(at, "a lone surrogate")
      if (text.includes("\0")) say(at, "a NUL character")
    }
    if (message.role === "user" || message.role === "assistant") checkParts(message.content, (what) => say(at, what))
    if (message.role === "assistant") {
      const after = messages[at + 1]
      checkAssistant(message, after, continues && after === undefined, ids, (what) => say(at, what))
    }
    if (message.role === "tool") {
      if (before?.role !== "assistant") say(at, "results without calls before them")
      for (const { content, id, result } of message.content) {
        if (typeof result === "string" && result.trim() === "") say(at, `the result of "${id}" is blank`)
        if (content?.length === 0) say(at, `the result of "${id}" shows nothing`)
        checkParts(content ?? [], (what) => say(at, `the result of "${id}" has ${what}`))
      }
    }
  })
  return found
}

/** The names that OpenAI takes, the narrowest of all providers: of tools and of calls. */
const isName = (name: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(name)

const nameRule = "providers take 1 to 64 letters, digits, _ and -"

const checkParts = (parts: ReadonlyArray<Message.AssistantPart>, say: (what: string) => void): void => {
  for (const part of parts) {
    if (part.type === "text" && part.text.trim() === "") say("a blank text")
    const wrong = part.type === "file" ? FileCheck.wrongIn(part) : undefined
    if (wrong !== undefined) say(`a file ${wrong}`)
  }
}

const checkAssistant = (
  message: Message.AssistantMessage,
  after: Message.Message | undefined,
  /** its provider may still answer the calls that it executes */
  isPaused: boolean,
  ids: Set<string>,
  say: (what: string) => void
): void => {
  if (message.content.every((part) => part.type === "reasoning")) say("nothing but reasoning")
  const calls = message.content.filter((part) => part.type === "tool-call")
  for (const call of calls) {
    if (ids.has(call.id)) say(`the call id "${call.id}" is used twice`)
    ids.add(call.id)
    if (!isName(call.id)) say(`"${call.id}" is no call id`)
    if (!isName(call.name)) say(`"${call.name}" is no tool name`)
    if (typeof call.params !== "object" || call.params === null || Array.isArray(call.params)) {
      say(`the arguments of "${call.name}" are no object`)
    }
  }
  const expected = calls.filter((call) => call.providerExecuted !== true)
  pair(expected, after?.role === "tool" ? after.content : [], say)
  checkOwn(message.content, isPaused, say)
}

/** A provider's own calls have one result each, anywhere after the call, since what it said goes back as it came. */
const checkOwn = (
  content: ReadonlyArray<Message.AssistantPart>,
  isPaused: boolean,
  say: (what: string) => void
): void => {
  const open = new Map<string, string>()
  for (const part of content) {
    if (part.type === "tool-call" && part.providerExecuted === true) open.set(part.id, part.name)
    if (part.type !== "tool-result") continue
    const name = open.get(part.id)
    if (name === undefined) say(`the provider's own result "${part.id}" follows no call without a result`)
    else if (name !== part.name) say(`the provider's own result "${part.id}" has another name than its call`)
    open.delete(part.id)
  }
  if (isPaused) return
  for (const id of open.keys()) say(`the provider's own call "${id}" has no result`)
}

interface Named {
  readonly id: string
  readonly name: string
}

const pair = (calls: ReadonlyArray<Named>, results: ReadonlyArray<Named>, say: (what: string) => void): void => {
  const ids = (parts: ReadonlyArray<Named>) => parts.map((part) => part.id).join()
  if (ids(calls) !== ids(results)) say(`calls [${ids(calls)}] are followed by results [${ids(results)}]`)
  else if (calls.some((call, i) => call.name !== results[i]?.name)) say(`results of [${ids(calls)}] have other names`)
}

const strings = function*(value: unknown): Generator<string> {
  if (typeof value === "string") yield value
  else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      yield key
      yield* strings(member)
    }
  }
}

/**
 * `model`, checked: an illegal request dies where it was made, and again when the scope closes, so that the test fails
 * whatever became of the first.
 */
export const make = Effect.fnUntraced(function*(
  model: Model.Model["Service"]
): Effect.fn.Return<Model.Model["Service"], never, Scope.Scope> {
  const all: Array<string> = []
  yield* Effect.addFinalizer(() =>
    all.length === 0 ? Effect.void : Effect.die(new Error(`illegal requests to a model:\n${all.join("\n")}`))
  )
  const { fallback } = model
  return {
    info: model.info,
    ...(fallback === undefined ? {} : { fallback: Delegating.to(fallback, { to: yield* make(fallback.to) }) }),
    stream: (request) =>
      Stream.suspend(() => {
        const found = violations(request)
        if (found.length === 0) return model.stream(request)
        all.push(...found)
        return Stream.die(new Error(`illegal request to the model:\n${found.join("\n")}`))
      })
  }
})

/** Wraps the model in the context. */
export const layer: Layer.Layer<Model.Model, never, Model.Model> = Layer.effect(
  Model.Model,
  Effect.flatMap(Model.Model, make)
)
