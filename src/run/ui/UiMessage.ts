/**
 * A page's message from the chunks of settled events: what the AI SDK makes of them in a page, for one that opens later.
 *
 * Does not own which chunks there are (`UiWriter`).
 */
import type { Chunk, SourcePart, UserPart } from "./UiChunk.ts"

type Asked = { readonly id: string; readonly approved?: never; readonly reason?: never }
type Yes = { readonly id: string; readonly approved: true; readonly reason?: string }
type No = { readonly id: string; readonly approved: false; readonly reason?: string }

/** A call in one of its states. */
type ToolPart =
  & {
    readonly type: `tool-${string}`
    readonly toolCallId: string
    readonly providerExecuted?: boolean
    readonly input: unknown
  }
  & (
    | { readonly state: "input-available" }
    | { readonly state: "approval-requested"; readonly approval: Asked }
    | { readonly state: "approval-responded"; readonly approval: Yes | No }
    | { readonly state: "output-available"; readonly output: unknown; readonly approval?: Yes }
    | { readonly state: "output-error"; readonly errorText: string; readonly approval?: Yes }
    | { readonly state: "output-denied"; readonly approval?: No }
  )

type Part =
  | UserPart
  | SourcePart
  | { readonly type: "step-start" }
  | { readonly type: "text"; readonly text: string; readonly state: "done" }
  | { readonly type: "reasoning"; readonly id: string; readonly text: string; readonly state: "done" }
  | { readonly type: "steering-message"; readonly id: string; readonly parts: Array<UserPart> }
  | ToolPart

/** Assignable to the AI SDK's `UIMessage`. */
export interface UiMessage {
  readonly id: string
  readonly role: "user" | "assistant"
  readonly parts: Array<Part>
  readonly metadata?: unknown
}

/** An answer that chunks are put into, in order. */
export class Answer {
  readonly parts: Array<Part> = []
  metadata: unknown
  readonly #calls = new Map<string, number>()
  /** answers about calls that are under way: the AI SDK keeps them together with the outcome */
  readonly #answers = new Map<string, { readonly approval: unknown }>()

  put(chunk: Chunk): void {
    switch (chunk.type) {
      case "start-step":
        this.parts.push({ type: "step-start" })
        return
      // texts are whole here: one delta each
      case "text-delta":
        this.parts.push({ type: "text", text: chunk.delta, state: "done" })
        return
      case "reasoning-delta":
        this.parts.push({ type: "reasoning", id: chunk.id, text: chunk.delta, state: "done" })
        return
      case "file":
      case "source-url":
      case "source-document":
      case "steering-message":
        this.parts.push(chunk)
        return
      case "finish":
      case "message-metadata":
        this.metadata = chunk.messageMetadata
        return
      case "tool-input-available": {
        const { input, providerExecuted, toolCallId, toolName } = chunk
        const at = this.#calls.get(toolCallId) ?? this.parts.length
        this.#calls.set(toolCallId, at)
        const by = providerExecuted === undefined ? {} : { providerExecuted }
        const { approval } = (this.parts[at] ?? {}) as { readonly approval?: unknown }
        if (approval !== undefined) this.#answers.set(toolCallId, { approval })
        this.parts[at] = { type: `tool-${toolName}`, toolCallId, ...by, input, state: "input-available" }
        return
      }
      case "tool-approval-request":
        return this.#become(chunk.toolCallId, { state: "approval-requested", approval: { id: chunk.approvalId } })
      case "tool-approval-response":
        return this.#answered(chunk)
      case "tool-output-available":
        return this.#become(chunk.toolCallId, { state: "output-available", output: chunk.output })
      case "tool-output-error":
        return this.#become(chunk.toolCallId, { state: "output-error", errorText: chunk.errorText })
      case "tool-output-denied":
        return this.#become(chunk.toolCallId, { state: "output-denied" })
      // chunks of what is not settled yet are skipped, and ends are not part of a message
      default:
        return
    }
  }

  #become(toolCallId: string, state: object): void {
    const at = this.#calls.get(toolCallId)
    if (at === undefined) return
    this.parts[at] = { ...this.parts[at], ...this.#answers.get(toolCallId), ...state } as ToolPart
  }

  #answered({ approvalId: id, approved, reason }: Extract<Chunk, { type: "tool-approval-response" }>): void {
    const asked = this.parts.find((part): part is ToolPart => "approval" in part && part.approval?.id === id)
    if (asked === undefined) return
    const approval = { id, approved, ...(reason === undefined ? {} : { reason }) }
    this.#become(asked.toolCallId, { state: "approval-responded", approval })
  }
}
