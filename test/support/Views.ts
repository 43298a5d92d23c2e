/** A context as a strategy sees it, outside any run. */
import * as MessageTokens from "../../src/run/MessageTokens.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Usage from "../../src/run/Usage.ts"
import type * as ContextManager from "../../src/services/ContextManager.ts"
import * as Draft from "./Drafts.ts"

export interface Options {
  /** what the run was given; default: no run goes on */
  readonly input?: ContextManager.View["input"]
  readonly force?: ContextManager.Force
  /** tokens that may be sent; default: no window is known */
  readonly limit?: number
  /** tokens of instructions and tools */
  readonly fixed?: number
  /** compactions since the last answer */
  readonly inARow?: number
  /** default: one that records nothing */
  readonly ledger?: ContextManager.Ledger
}

/** Four characters count as a token here. */
const ofText = (text: string): number => Math.ceil(text.length / 4)

const counter = MessageTokens.make(ofText)

export const tokens = (transcript: Transcript.Transcript): number => Transcript.total(transcript, counter.message).sum

const unused: ContextManager.Ledger = { mayAsk: () => true, note: () => {}, noted: () => Usage.zero }

export const view = (
  transcript: Transcript.Transcript,
  { fixed = 0, force, inARow = 0, input, ledger = unused, limit }: Options = {}
): ContextManager.View => ({
  transcript,
  input,
  model: Draft.model,
  size: { tokens: tokens(transcript) + fixed, fixed, limit, of: counter.message, ofText },
  force,
  inARow,
  ledger,
  metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 0 }
})

/** The transcript after a compaction. */
export const after = (
  transcript: Transcript.Transcript,
  compaction: ContextManager.Compaction,
  seq = 10_000
): Transcript.Transcript =>
  Transcript.compact(
    transcript,
    { ...compaction, memory: compaction.memory ?? Transcript.memory(transcript) },
    seq
  )
