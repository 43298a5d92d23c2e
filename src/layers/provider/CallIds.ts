/**
 * The ids by which the calls of a conversation are sent: a call goes back under the one that its provider knows it by, where there
 * is such a one.
 *
 * Does not own where an adapter keeps it until then (`Attached`, `Metadata`).
 */

/** Of one conversation, from its beginning on. */
export class CallIds {
  /** by the ids in the conversation, where those are different */
  readonly #others = new Map<string, string>()
  readonly #sent = new Set<string>()

  /** Sends the call `id`, which its provider may know by another; that goes only once, since a provider may repeat one. */
  ofCall(id: string, known = id): string {
    const sent = this.#sent.has(known) ? id : known
    this.#sent.add(sent)
    if (sent !== id) this.#others.set(id, sent)
    return sent
  }

  /** The same for a result of the call `id`, which was sent before. */
  ofResult(id: string): string {
    return this.#others.get(id) ?? id
  }
}

/**
 * Whether a call must keep its id: LiteLLM writes the call's signature into it, and Kimi's models read theirs in the conversation,
 * and lose their way with others (https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md).
 */
export const isKept = (id: string): boolean => id.includes("__thought__") || /^functions\.[\w-]+:\d+$/.test(id)
