/**
 * Decides which call each streamed fragment belongs to, and what the fragments of a call add up to.
 *
 * Does not own what is emitted for a call, nor under which id (`ToolCalls`).
 */
import * as Json from "../provider/Json.ts"
import { JsonEnd } from "./JsonEnd.ts"

/** A piece of a call. A provider leaves out, empties or repeats any field; `text` is a piece of the arguments. */
export interface Fragment {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly text: string
  /** what only the server understands (`Attached`) */
  readonly fields?: Json.JsonObject | undefined
}

/** A call, as far as its fragments have come. */
export interface Call {
  readonly ordinal: number
  readonly index: number | undefined
  /** its position in the list of its first chunk, from 0 */
  readonly place: number
  /** the chunk in which it began */
  readonly began: number
  /** the chunk that last added to the call */
  chunk: number
  providerId: string | undefined
  /** whether its fragments have ids of their own, and each the name */
  changesId: boolean
  name: string
  /** how many fragments repeated the same name */
  named: number
  text: string
  /** where `text` ends as JSON; kept from the moment it is first asked for */
  end: JsonEnd | undefined
  /** the part of `text` that was not emitted yet, because the name is not known */
  unsent: string
  /** what only the server understands */
  fields: Json.JsonObject | undefined
  /** the unique id, from the moment the call was first emitted */
  id: string | undefined
}

/** Whether the arguments are a whole JSON document. Parses only where one may end, so that long ones are parsed once. */
const isWhole = (call: Call): boolean => {
  call.end ??= JsonEnd.of(call.text)
  return call.end.isReached && Json.parse(call.text) !== undefined
}

const hasOtherId = ({ providerId }: Call, { id }: Fragment): boolean =>
  id !== undefined && providerId !== undefined && id !== providerId

/**
 * Whether a fragment with another id goes on with the call all the same: older vLLM makes up an id for each fragment of a call that was
 * chosen by name. Arguments of another call would begin with a brace.
 */
const goesOn = (call: Call, { index, name, text }: Fragment): boolean => {
  if (index === undefined || index !== call.index || name !== call.name) return false
  // the text is joined only once: it may have come in very many pieces
  if (!call.changesId && call.text.trim() === "") return false
  const rest = text.trim()
  if (rest === "") return call.changesId
  return (call.changesId || !rest.startsWith("{")) && !isWhole(call)
}

/**
 * Whether a fragment that was found to match `call` begins another call: some providers give every call index 0, or all
 * calls one id, or neither, and some repeat the name with every fragment. Only a fragment with a name begins a call. After
 * whole arguments, one without an id may begin it before its own arguments come, unless the name was repeated all along.
 */
const beginsAnother = (call: Call, fragment: Fragment, chunk: number): boolean => {
  if (fragment.name === undefined || call.name === "") return false
  if (hasOtherId(call, fragment)) return !goesOn(call, fragment)
  if (call.chunk === chunk) return true
  if (call.text === "") return fragment.index === undefined && fragment.name !== call.name
  if (fragment.name !== call.name) return true
  return (fragment.text.trim() !== "" || (fragment.id === undefined && call.named === 1)) && isWhole(call)
}

/** Whether nothing in a fragment says which call it belongs to. */
const isUnmarked = ({ id, index, name }: Fragment): boolean =>
  id === undefined && index === undefined && name === undefined

/** A name that was repeated without an id and without arguments was as many calls: nothing else tells them apart. */
const apart = (call: Call): ReadonlyArray<Call> =>
  call.text !== "" || call.providerId !== undefined || call.named < 2
    ? [call]
    : [call, ...Array.from({ length: call.named - 1 }, (): Call => ({ ...call, id: undefined }))]

export class CallFragments {
  readonly #calls: Array<Call> = []
  /** those with each id of the provider's, in order */
  readonly #byId = new Map<string, Array<Call>>()
  /** the last one with each index */
  readonly #byIndex = new Map<number, Call>()
  #chunk = 0
  /** characters of all arguments, and some for each call */
  size = 0

  /** All calls, in order; `undefined` where one has arguments and no name. */
  whole(): ReadonlyArray<Call> | undefined {
    if (this.#calls.some((call) => call.name === "" && call.text !== "")) return undefined
    return this.#calls.flatMap(apart).filter((call) => call.name !== "")
  }

  /** Adds the fragments of one chunk, one after the other; `added` gets the call of each, already extended by it. */
  add(fragments: ReadonlyArray<Fragment>, added: (call: Call) => void): void {
    this.#chunk++
    const isMore = fragments.length > 1 && fragments.every(isUnmarked)
    for (let place = 0; place < fragments.length; place++) {
      const fragment = fragments[place]!
      const found = isMore ? this.#goingOn(place) : this.#find(fragment)
      const isAnother = found === undefined || beginsAnother(found, fragment, this.#chunk)
      added(this.#extend(isAnother ? this.#begin(fragment, place) : found, fragment))
    }
  }

  #extend(call: Call, fragment: Fragment): Call {
    call.chunk = this.#chunk
    call.changesId ||= fragment.name !== undefined && hasOtherId(call, fragment)
    if (fragment.id !== undefined && call.providerId === undefined) this.#identify(call, fragment.id)
    if (fragment.name !== undefined) call.named = fragment.name === call.name ? call.named + 1 : 1
    if (fragment.name !== undefined && (call.text === "" || call.name === "")) {
      call.name = fragment.name.startsWith(call.name) ? fragment.name : call.name + fragment.name
    }
    call.text += fragment.text
    this.size += fragment.text.length
    call.end?.push(fragment.text)
    call.unsent += fragment.text
    if (fragment.fields !== undefined) call.fields = { ...call.fields, ...fragment.fields }
    return call
  }

  #identify(call: Call, id: string): void {
    call.providerId = id
    const same = this.#byId.get(id)
    // a call that began before others may get its id after them
    if (same !== undefined) same.splice(same.findLastIndex(({ ordinal }) => ordinal < call.ordinal) + 1, 0, call)
    else this.#byId.set(id, [call])
  }

  #find({ id, index, name }: Fragment): Call | undefined {
    const isKnown = (call: Call) => index === undefined || call.index === undefined || call.index === index
    const known = id === undefined ? undefined : this.#byId.get(id)?.findLast(isKnown)
    if (known !== undefined) return known
    if (index !== undefined) return this.#byIndex.get(index)
    return id === undefined || name === undefined ? this.#calls.at(-1) : undefined
  }

  /** For several unmarked fragments at once: the call that began in this place, among those that last began together. */
  #goingOn(place: number): Call | undefined {
    const last = this.#calls.at(-1)
    return this.#calls.findLast((call) => call.place === place && call.began === last?.began) ?? last
  }

  #begin({ index }: Fragment, place: number): Call {
    const call: Call = {
      ordinal: this.#calls.length,
      index,
      place,
      began: this.#chunk,
      chunk: this.#chunk,
      providerId: undefined,
      changesId: false,
      name: "",
      named: 0,
      text: "",
      end: undefined,
      unsent: "",
      fields: undefined,
      id: undefined
    }
    this.#calls.push(call)
    this.size += 200
    if (index !== undefined) this.#byIndex.set(index, call)
    return call
  }
}
