/**
 * The parts of the AI SDK's UI message stream that runs use, and the messages that they form: a subset of its
 * `UIMessageChunk` and `UIMessage`, of version 7. Source: https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol.
 *
 * Types only. Does not own which event becomes which (`UiWriter`).
 */

/** What a user said: a text, or a file with its address. */
export type UserPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly mediaType: string; readonly url: string; readonly filename?: string }

/** What an answer rests on: the same as a chunk and as a part of the message. */
export type SourcePart =
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
    readonly type: "source-document"
    readonly sourceId: string
    readonly mediaType: string
    readonly title: string
    readonly filename?: string
  }

interface Call {
  readonly toolCallId: string
  readonly providerExecuted?: boolean
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other"

export type Chunk =
  | { readonly type: "start"; readonly messageId: string }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "file"; readonly mediaType: string; readonly url: string }
  | SourcePart
  | { readonly type: "tool-input-start"; readonly toolCallId: string; readonly toolName: string }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | Call & { readonly type: "tool-input-available"; readonly toolName: string; readonly input: unknown }
  | Call & { readonly type: "tool-output-available"; readonly output: unknown; readonly preliminary?: boolean }
  | Call & { readonly type: "tool-output-error"; readonly errorText: string }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | { readonly type: "tool-approval-request"; readonly approvalId: string; readonly toolCallId: string }
  | {
    readonly type: "tool-approval-response"
    readonly approvalId: string
    readonly approved: boolean
    readonly reason?: string
  }
  | { readonly type: "steering-message"; readonly id: string; readonly parts: Array<UserPart> }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "message-metadata"; readonly messageMetadata: unknown }
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "finish"; readonly finishReason: FinishReason; readonly messageMetadata?: unknown }
