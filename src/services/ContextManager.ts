/**
 * The contract of keeping a conversation small enough: what is sent as it is, what must shrink first, and how.
 *
 * Does not own the log, from which nothing is ever deleted, nor when to ask; the loop asks before every model call,
 * after a provider said that it was too much, after an answer that was cut at the output limit, and when somebody says
 * so.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Memory from "../run/Memory.ts"
import type * as Message from "../run/Message.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as Transcript from "../run/Transcript.ts"
import type * as Usage from "../run/Usage.ts"
import type * as Model from "./Model.ts"

/** Why the context must shrink, whatever the strategy's own rules say. */
export type Force = "overflow" | "length" | "manual"

/**
 * Tokens, as the `Tokenizer` estimates them and corrected by what the provider said of earlier calls. `tokens` and `fixed` are
 * counted when they are asked for: a copy made by spreading lacks them, `withLimit` makes one.
 */
export interface Size {
  /** of all that would be sent: messages, instructions, tools, and what waits to be said */
  readonly tokens: number
  /** of that what no compaction makes smaller: instructions, tools, what hooks add, and what waits */
  readonly fixed: number
  /** how many may be sent: the model's window, without what its answer may take; undefined where no window is known */
  readonly limit: number | undefined
  /** tokens of a message, corrected like the others */
  readonly of: (message: Message.Message) => number
  /** as it is estimated: a text may be for another model, and a budget is the same with any */
  readonly ofText: (text: string) => number
}

/** The same size with another limit. */
export const withLimit = (size: Size, limit: number | undefined): Size => new Limited(size, limit)

class Limited implements Size {
  readonly limit: number | undefined
  readonly of: Size["of"]
  readonly ofText: Size["ofText"]
  readonly #size: Size

  constructor(size: Size, limit: number | undefined) {
    this.limit = limit
    this.of = size.of
    this.ofText = size.ofText
    this.#size = size
  }

  get tokens(): number {
    return this.#size.tokens
  }

  get fixed(): number {
    return this.#size.fixed
  }
}

/** What calls of models for a compaction spend: it counts as the run's, whatever becomes of the compaction. */
export interface Ledger {
  /** Whether the run's limits leave another call; asked before each. */
  readonly mayAsk: () => boolean
  /** Notes what a call spent, as soon as that is known; `Prices` say what that cost, where its model is given. */
  readonly note: (usage: Usage.Usage, model?: Message.ModelRef) => void
  /** What was noted, with its cost where that is known. */
  readonly noted: () => Usage.Usage
}

/** What a strategy sees before a model call. */
export interface View {
  /** all that the model would be sent, but for the instructions and what hooks add */
  readonly transcript: Transcript.Transcript
  /** the model that is asked next */
  readonly model: Model.ModelInfo
  readonly size: Size
  /** undefined: nothing forces it, and the strategy's own rules say whether the context is too large */
  readonly force: Force | undefined
  /** compactions since the run's last answer */
  readonly inARow: number
  readonly ledger: Ledger
  /** whose calls those of a strategy are */
  readonly metadata: Model.ModelRequest["metadata"]
}

/** A view that was found too large. */
export interface Request extends View {
  /** what is too much, where nobody asked for it by hand; default: what forces it, else the number of messages */
  readonly cause?: RunEvent.CompactionCause
}

/** What is too much for a request: one by hand is made whatever a strategy says. */
export const causeOf = ({ cause, force }: Request): RunEvent.CompactionCause =>
  force === "manual" ? force : cause ?? force ?? "messages"

/** The model is sent what there is, or that is made smaller first. */
export type Plan = { readonly _tag: "Send" } | { readonly _tag: "Compact"; readonly request: Request }

/** The plan to change nothing. */
export const send: Plan = { _tag: "Send" }

/**
 * Messages of events up to `upTo` are replaced by `replacement`, and long results of tools in what is kept up to
 * `pruned` by notes. Never splits a call from its result, keeps the latest user message word for word, and leaves less
 * to be sent than there was: the loop refuses one that does not.
 */
export interface Compaction extends Omit<Transcript.Change, "memory"> {
  readonly strategy: string
  /** what is remembered from here on; where it is left out, what was remembered before stays */
  readonly memory?: Memory.Memory | undefined
  /** what was spent besides what the `Ledger` notes */
  readonly usage: Usage.Usage
  /** the model that was asked for that, where one was: `Prices` say what its usage cost */
  readonly model?: Message.ModelRef
  /** what other strategies failed with that were asked for it, in words: each is in the log as a compaction that failed */
  readonly passedOver?: ReadonlyArray<string>
}

/**
 * The context could not be made smaller; log and context are as they were. What was spent on it counts all the same.
 */
export class CompactionError extends Data.TaggedError("CompactionError")<{
  readonly message: string
  readonly usage?: Usage.Usage
  readonly model?: Message.ModelRef
}> {}

/** Why there is nothing to compact, in words for whoever asked. */
export const nothingToLeaveOut =
  "nothing can be left out: the conversation is already as short as its latest message allows"

export class ContextManager extends Context.Service<ContextManager, {
  /** the models that it may ask: a run with a limit of cost needs their prices too */
  readonly models?: ReadonlyArray<Message.ModelRef>
  /**
   * Pure and total: the same view gives the same plan. Asks for a compaction only where one can make the context
   * smaller; to a view with `force`, `Send` says that nothing can, or that nothing is to.
   */
  readonly plan: (view: View) => Plan
  /**
   * Gives each strategy that it asks the time of a compaction itself, and needs no limit around all of them. Default: it is
   * one strategy, and has failed after that time.
   */
  readonly keepsTime?: boolean
  /** Makes the context smaller or fails; may ask a model, whose usage is the run's. Interrupting it changes nothing. */
  readonly compact: (request: Request) => Effect.Effect<Compaction, CompactionError>
}>()("fiberloop/services/ContextManager") {}
