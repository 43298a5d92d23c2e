/**
 * Assembles tool calls from the fragments that providers stream.
 *
 * Owns which call a fragment belongs to, and unique call ids. Does not own when calls are settled (`ChatResponse`), nor what
 * their arguments say (`Parameters`).
 */
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"
import * as Parameters from "../provider/Parameters.ts"

/** A piece of a call. A provider leaves out, empties or repeats any field; `text` is a piece of the arguments. */
export interface Fragment {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly text: string
}

interface Call {
  readonly ordinal: number
  readonly index: number | undefined
  /** where in the list of its chunk it began, from 0 */
  readonly place: number
  /** the chunk in which it began */
  readonly began: number
  /** the chunk that last added to the call */
  chunk: number
  providerId: string | undefined
  name: string
  /** how many fragments gave it the same name */
  named: number
  text: string
  /** what of `text` was not yet emitted, because the name is not known */
  unsent: string
  /** the unique id, from the moment the call was first emitted */
  id: string | undefined
}

type Parts = Array<Response.StreamPartEncoded>

export interface ToolCalls {
  /** Adds the fragments of one chunk, in order. */
  readonly push: (fragments: ReadonlyArray<Fragment>, out: Parts) => void
  /** Emits every call; none, and `false`, when one has arguments and no name. */
  readonly end: (out: Parts) => boolean
}

/** Whether a text is a whole JSON document, of a kind of which no proper prefix is one. */
const isWhole = (text: string): boolean => /^\s*[{["]/.test(text) && Json.parse(text) !== undefined

/**
 * Whether a fragment that was found to match `call` begins another one: some providers give every call index 0, or all
 * calls one id, or neither, and some repeat the name with every fragment. Only a fragment with a name begins a call; behind
 * whole arguments one without an id begins it also before its own arguments, unless the name came again all along.
 */
const beginsAnother = (call: Call, fragment: Fragment, chunk: number): boolean => {
  if (fragment.name === undefined || call.name === "") return false
  if (fragment.id !== undefined && call.providerId !== undefined && fragment.id !== call.providerId) return true
  if (call.chunk === chunk) return true
  if (call.text === "") return fragment.index === undefined && fragment.name !== call.name
  if (fragment.name !== call.name) return true
  return (fragment.text !== "" || (fragment.id === undefined && call.named === 1)) && isWhole(call.text)
}

/** Whether nothing in a fragment says which call it belongs to. */
const isUnmarked = ({ id, index, name }: Fragment): boolean =>
  id === undefined && index === undefined && name === undefined

/** A name that came again and again without an id and without arguments was as many calls: nothing else tells them apart. */
const apart = (call: Call): ReadonlyArray<Call> =>
  call.text !== "" || call.providerId !== undefined || call.named < 2
    ? [call]
    : [call, ...Array.from({ length: call.named - 1 }, (): Call => ({ ...call, id: undefined }))]

export const make = (): ToolCalls => {
  const calls: Array<Call> = []
  const ids = new Set<string>()
  let chunk = 0

  const find = (fragment: Fragment): Call | undefined => {
    const { id, index, name } = fragment
    const isKnown = (call: Call) =>
      call.providerId === id && (index === undefined || call.index === undefined || call.index === index)
    const known = id === undefined ? undefined : calls.findLast(isKnown)
    if (known !== undefined) return known
    if (index !== undefined) return calls.findLast((call) => call.index === index)
    return id === undefined || name === undefined ? calls.at(-1) : undefined
  }

  /** Several at once that only go on: each with the call that began in its place, of those that began together last. */
  const goOn = (place: number): Call | undefined => {
    const last = calls.at(-1)
    return calls.findLast((call) => call.place === place && call.began === last?.began) ?? last
  }

  const begin = (fragment: Fragment, place: number): Call => {
    const call: Call = {
      ordinal: calls.length,
      index: fragment.index,
      place,
      began: chunk,
      chunk,
      providerId: undefined,
      name: "",
      named: 0,
      text: "",
      unsent: "",
      id: undefined
    }
    calls.push(call)
    return call
  }

  const add = (call: Call, fragment: Fragment) => {
    call.chunk = chunk
    call.providerId ??= fragment.id
    if (fragment.name !== undefined) call.named = fragment.name === call.name ? call.named + 1 : 1
    if (fragment.name !== undefined && (call.text === "" || call.name === "")) {
      call.name = fragment.name.startsWith(call.name) ? fragment.name : call.name + fragment.name
    }
    call.text += fragment.text
    call.unsent += fragment.text
  }

  /** The provider's id when it is the first call to have it, else the first free `call_<n>` from the call's place on. */
  const claim = (call: Call): string => {
    let id = call.providerId
    for (let n = call.ordinal; id === undefined || ids.has(id); n++) id = `call_${n}`
    ids.add(id)
    return id
  }

  /** The call's id; emits the start with the first use of it. */
  const start = (call: Call, out: Parts): string => {
    if (call.id !== undefined) return call.id
    const id = call.id = claim(call)
    out.push({ type: "tool-params-start", id, name: call.name })
    return id
  }

  return {
    push(fragments, out) {
      chunk++
      const isMore = fragments.length > 1 && fragments.every(isUnmarked)
      for (const [place, fragment] of fragments.entries()) {
        const found = isMore ? goOn(place) : find(fragment)
        const call = found === undefined || beginsAnother(found, fragment, chunk) ? begin(fragment, place) : found
        add(call, fragment)
        if (call.name === "" || call.unsent === "") continue
        out.push({ type: "tool-params-delta", id: start(call, out), delta: call.unsent })
        call.unsent = ""
      }
    },
    end(out) {
      if (calls.some((call) => call.name === "" && call.text !== "")) return false
      for (const call of calls.flatMap(apart)) {
        if (call.name === "") continue
        const id = start(call, out)
        out.push(
          { type: "tool-params-end", id },
          { type: "tool-call", id, name: call.name, params: Parameters.fromText(call.text) }
        )
      }
      return true
    }
  }
}
