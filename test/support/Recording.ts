/**
 * A recorded chat completion and what it says, read in the plainest way and independently of the adapter.
 *
 * Owns the formats of a file (JSON lines, or the text of server-sent events) and the reading to compare adapters with.
 * If fragments of calls can be read in several ways it returns them all, or none if none makes sense.
 */
export type Payload = Record<string, any>

export interface Call {
  readonly name: string
  readonly params: unknown
}

/** How a stream ends: `open` if neither a finish reason nor an error came, `either` if an error came after a finish. */
export type Ending = "open" | "whole" | "error" | "either"

export interface Reading {
  readonly ending: Ending
  /** The finish reason, if its name can mean only one thing. */
  readonly reason: string | undefined
  readonly text: string
  readonly reasoning: string
  /** The readings of the tool calls, one if the fragments are plain; without any, nothing is claimed about them. */
  readonly calls: ReadonlyArray<ReadonlyArray<Call>>
  /** The prompt tokens that may be reported; one value if usage came once. */
  readonly input: ReadonlyArray<number | undefined>
}

/** The payloads of a file, `undefined` if it holds no stream but one document, such as an unstreamed answer. */
export const parse = (file: string): ReadonlyArray<Payload> | undefined => {
  const lines = file.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/)
  const payloads: Array<Payload> = []
  let event = ""
  for (const line of lines) {
    const [, name, value = line] = /^(event|data|id|retry)?: ?(.*)$/s.exec(line) ?? []
    if (name === "event") event = value
    if (line.trim() === "") event = ""
    if ((name !== undefined && name !== "data") || line.startsWith(":") || value.trim() === "") continue
    if (value.trim() === "[DONE]") continue
    let payload: unknown
    try {
      payload = JSON.parse(value)
    } catch (cause) {
      if (isDocument(file)) return undefined
      throw new Error(`not a line of JSON nor of server-sent events: ${line.slice(0, 80)}`, { cause })
    }
    if (typeof payload !== "object" || payload === null) throw new Error(`not a payload: ${line.slice(0, 80)}`)
    payloads.push(event === "error" && !isError(payload) ? { error: payload } : payload)
  }
  return payloads.every((payload) => payload["choices"]?.[0]?.message) ? undefined : payloads
}

const isDocument = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === "object"
  } catch {
    return false
  }
}

const isError = (payload: Payload): boolean =>
  Boolean(payload["error"]) || payload["object"] === "error" || payload["type"] === "error"

const failing = ["error", "insufficient_system_resource"]

const choiceOf = (payload: Payload): Payload =>
  payload["choices"]?.find?.((choice: Payload | null) => (choice?.["index"] ?? 0) === 0) ?? {}

/** A whole message, without what it repeats of the pieces before it (MiniMax). */
const unsaid = (message: Payload, pieces: ReadonlyArray<Payload>): Payload => {
  const text = textOf(message)
  const reasoning = reasoningOf(message)
  return {
    content: pieces.some((piece) => textOf(piece) !== "") ? "" : text,
    reasoning: pieces.some((piece) => reasoningOf(piece) !== "") ? "" : reasoning,
    tool_calls: pieces.some((piece) => fragmentsOf(piece).length > 0) ? [] : message["tool_calls"]
  }
}

const joined = (blocks: unknown, field: string): string =>
  Array.isArray(blocks) ? blocks.map((block) => typeof block?.[field] === "string" ? block[field] : "").join("") : ""

/** The first of these texts that says anything. */
const firstOf = (...texts: ReadonlyArray<unknown>): string =>
  texts.find((text): text is string => typeof text === "string" && text !== "") ?? ""

const textOf = ({ content, refusal }: Payload): string => firstOf(content, joined(content, "text"), refusal)

const reasoningOf = ({ content, reasoning, reasoning_content, reasoning_details }: Payload): string =>
  firstOf(
    reasoning_content,
    reasoning,
    joined(reasoning_details, "text") + joined(reasoning_details, "summary"),
    Array.isArray(content) ? content.map((block) => joined(block?.thinking, "text")).join("") : ""
  )

// ---- tool calls ---------------------------------------------------------------------------------------------------

interface Fragment {
  readonly index: unknown
  /** in the list of its payload, from 0 */
  readonly place: number
  readonly id: string
  readonly name: string
  readonly args: string
}

const fragmentsOf = (delta: Payload): ReadonlyArray<Fragment> => {
  const items = delta["tool_calls"]?.length > 0
    ? delta["tool_calls"]
    : delta["function_call"]
    ? [{ index: 0, function: delta["function_call"] }]
    : []
  return items.map(({ function: fn, id, index }: Payload, place: number) => {
    const args = fn?.arguments ?? ""
    return {
      index,
      place,
      id: id || "",
      name: fn?.name || "",
      args: typeof args === "string" ? args : JSON.stringify(args)
    }
  })
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown) => typeof value === "object" && value !== null

/** No text, null and [] mean no parameters; JSON in a JSON text is parsed; what is not JSON stays text. */
const paramsOf = (args: string): unknown => {
  const value = args.trim() === "" ? null : json(args)
  if (value === undefined) return args
  if (value === null || (Array.isArray(value) && value.length === 0)) return {}
  if (typeof value !== "string") return value
  const inner = value.trim() === "" ? {} : json(value)
  return isObject(inner) ? inner : args
}

type Groups = ReadonlyArray<ReadonlyArray<Fragment>>

const callsOf = (groups: Groups): ReadonlyArray<Call> =>
  groups.map((group) => ({
    name: group.find(({ name }) => name !== "")?.name ?? "",
    params: paramsOf(group.map(({ args }) => args).join(""))
  }))

const by = (fragments: ReadonlyArray<Fragment>, key: (fragment: Fragment) => unknown): Groups => [
  ...Map.groupBy(fragments, key).values()
]

/** Each call has its own index, at most one id, and its name only in its first fragment. */
const isPlain = (fragments: ReadonlyArray<Fragment>, groups: Groups): boolean =>
  fragments.every(({ index }) => typeof index === "number") &&
  groups.every((group) =>
    group[0]?.name !== "" && group.slice(1).every(({ id, name }) => name === "" && (id === "" || id === group[0]?.id))
  )

/** Every call has a name and parameters, all of its names being the same. */
const makesSense = (groups: Groups): boolean =>
  callsOf(groups).every(({ params }) => isObject(params))
  && groups.every((group) => new Set(group.flatMap(({ name }) => name || [])).size === 1)

const callReadings = (fragments: ReadonlyArray<Fragment>): Reading["calls"] => {
  const byIndex = by(fragments, ({ index }) => index)
  if (isPlain(fragments, byIndex)) return [callsOf(byIndex)]
  const inTurn = (begins: (fragment: Fragment, last: Fragment | undefined) => boolean): Groups => {
    const groups: Array<Array<Fragment>> = []
    for (const fragment of fragments) {
      const last = groups.at(-1)
      if (last === undefined || begins(fragment, last.at(-1))) groups.push([fragment])
      else last.push(fragment)
    }
    return groups
  }
  const readings = [
    byIndex,
    ...(fragments.every(({ index }) => index === undefined) ? [by(fragments, ({ place }) => place)] : []),
    ...(fragments.every(({ id }) => id !== "") ? [by(fragments, ({ id }) => id)] : []),
    inTurn(() => true),
    inTurn(({ name }) => name !== ""),
    inTurn(({ name }, last) => name !== "" && name !== last?.name),
    inTurn(({ id }, last) => id !== "" && id !== last?.id)
  ]
  return readings.filter(makesSense).map(callsOf)
}

// ---- the whole ----------------------------------------------------------------------------------------------------

const plainReasons: Payload = {
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
  tool_calls: "tool-calls",
  function_call: "tool-calls"
}

const finishOf = (payload: Payload): string => firstOf(choiceOf(payload)["finish_reason"])

const promptTokens = (payload: Payload): ReadonlyArray<number> => {
  const usage = payload["usage"] ?? choiceOf(payload)["usage"] ?? payload["x_groq"]?.usage
  return Number.isInteger(usage?.prompt_tokens) && usage.prompt_tokens >= 0 ? [usage.prompt_tokens] : []
}

const endingOf = (finished: number, failed: number): Ending =>
  finished === -1 ? failed === -1 ? "open" : "error" : failed === -1 ? "whole" : failed <= finished ? "error" : "either"

export const read = (payloads: ReadonlyArray<Payload>): Reading => {
  const finished = payloads.findIndex((payload) => finishOf(payload) !== "")
  const failed = payloads.findIndex((payload) => isError(payload) || failing.includes(finishOf(payload)))
  const ending = endingOf(finished, failed)
  const told = (ending === "error" ? payloads.slice(0, failed) : payloads).map(choiceOf)
  const pieces = told.flatMap(({ delta }) => delta ?? [])
  const deltas = told.map(({ delta, message }) => delta ?? unsaid(message ?? {}, pieces))
  // servers count in parts, and some repeat with 0 what they have said
  const some = (from: number) => payloads.slice(from).flatMap(promptTokens).filter((tokens) => tokens > 0)
  const late = finished === -1 ? [] : some(finished)
  return {
    ending,
    reason: finished === -1 ? undefined : plainReasons[finishOf(payloads[finished] ?? {})],
    text: deltas.map(textOf).join(""),
    reasoning: deltas.map(reasoningOf).join(""),
    calls: callReadings(deltas.flatMap(fragmentsOf)),
    input: late.length > 0 ? late : [some(0).at(-1) ?? payloads.flatMap(promptTokens).at(-1)]
  }
}
