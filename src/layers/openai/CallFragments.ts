/**
 * Which call each streamed fragment belongs to, and what the fragments of a call make together.
 *
 * Does not own what is emitted of a call, and under which id (`ToolCalls`).
 */
import * as Json from "../provider/Json.ts"

/** A piece of a call. A provider leaves out, empties or repeats any field; `text` is a piece of the arguments. */
export interface Fragment {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly text: string
}

/** A call, as far as its fragments have come. */
export interface Call {
  readonly ordinal: number
  readonly index: number | undefined
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

/** A name that came again and again without an id and without arguments was as many calls: nothing else tells them apart. */
const apart = (call: Call): ReadonlyArray<Call> =>
  call.text !== "" || call.providerId !== undefined || call.named < 2
    ? [call]
    : [call, ...Array.from({ length: call.named - 1 }, (): Call => ({ ...call, id: undefined }))]

export class CallFragments {
  readonly #calls: Array<Call> = []
  #chunk = 0

  /** Fragments that are added from here on came together. */
  nextChunk(): void {
    this.#chunk++
  }

  /** Gives the call that the fragment belongs to, which has it now. */
  add(fragment: Fragment): Call {
    const found = this.#find(fragment)
    const call = found === undefined || beginsAnother(found, fragment, this.#chunk) ? this.#begin(fragment) : found
    call.chunk = this.#chunk
    call.providerId ??= fragment.id
    if (fragment.name !== undefined) call.named = fragment.name === call.name ? call.named + 1 : 1
    if (fragment.name !== undefined && (call.text === "" || call.name === "")) {
      call.name = fragment.name.startsWith(call.name) ? fragment.name : call.name + fragment.name
    }
    call.text += fragment.text
    call.unsent += fragment.text
    return call
  }

  /** All calls, in order; `undefined` where one has arguments and no name. */
  whole(): ReadonlyArray<Call> | undefined {
    if (this.#calls.some((call) => call.name === "" && call.text !== "")) return undefined
    return this.#calls.flatMap(apart).filter((call) => call.name !== "")
  }

  #find({ id, index, name }: Fragment): Call | undefined {
    const isKnown = (call: Call) =>
      call.providerId === id && (index === undefined || call.index === undefined || call.index === index)
    const known = id === undefined ? undefined : this.#calls.findLast(isKnown)
    if (known !== undefined) return known
    if (index !== undefined) return this.#calls.findLast((call) => call.index === index)
    return id === undefined || name === undefined ? this.#calls.at(-1) : undefined
  }

  #begin({ index }: Fragment): Call {
    const call: Call = {
      ordinal: this.#calls.length,
      index,
      chunk: this.#chunk,
      providerId: undefined,
      name: "",
      named: 0,
      text: "",
      unsent: "",
      id: undefined
    }
    this.#calls.push(call)
    return call
  }
}
