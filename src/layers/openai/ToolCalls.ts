/**
 * Emits tool calls while their fragments come: each under an id of its own, its arguments piece by piece, and at the end as a
 * whole.
 *
 * Does not own which call a fragment belongs to (`CallFragments`), when calls are settled (`ChatResponse`), nor what their
 * arguments say (`Parameters`).
 */
import type * as Response from "effect/ai/Response"
import * as CallIds from "../provider/CallIds.ts"
import * as Parameters from "../provider/Parameters.ts"
import * as Attached from "./Attached.ts"
import { type Call, CallFragments, type Fragment } from "./CallFragments.ts"
import type { Seal } from "./Seal.ts"

type Parts = Array<Response.StreamPartEncoded>

export class ToolCalls {
  readonly #fragments = new CallFragments()
  readonly #ids = new Set<string>()
  readonly #from: string

  /** For a model at a server (`Attached.source`). */
  constructor(from: string) {
    this.#from = from
  }

  /** Characters of all arguments so far. */
  get size(): number {
    return this.#fragments.size
  }

  /** Adds the fragments of one chunk, in order. */
  push(fragments: ReadonlyArray<Fragment>, out: Parts): void {
    this.#fragments.add(fragments, (call) => {
      if (call.name === "" || call.unsent === "") return
      out.push({ type: "tool-params-delta", id: this.#start(call, out), delta: call.unsent })
      call.unsent = ""
    })
  }

  /** Emits every call; none, and `false`, when one has arguments but no name. Calls that the seal names keep their ids. */
  end(out: Parts, seal: Seal): boolean {
    const calls = this.#fragments.whole()
    if (calls === undefined) return false
    for (const call of calls) {
      const id = this.#start(call, out)
      const attached = Attached.received({
        fields: call.fields,
        id: seal.names(id) || CallIds.isKept(id) ? id : undefined
      }, this.#from)
      out.push(
        { type: "tool-params-end", id },
        { type: "tool-call", id, name: call.name, params: Parameters.fromText(call.text), ...attached }
      )
    }
    return true
  }

  /** The call's id; the first use of it emits the start. */
  #start(call: Call, out: Parts): string {
    if (call.id !== undefined) return call.id
    const id = call.id = this.#claim(call)
    out.push({ type: "tool-params-start", id, name: call.name })
    return id
  }

  /** The provider's id for the first call that has it, else the first free `call_<n>`, counting from the call's place. */
  #claim(call: Call): string {
    let id = call.providerId
    for (let n = call.ordinal; id === undefined || this.#ids.has(id); n++) id = `call_${n}`
    this.#ids.add(id)
    return id
  }
}
