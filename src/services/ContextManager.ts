/**
 * The contract of keeping a conversation small enough: what is sent as it is, what must shrink first, and how.
 *
 * Does not own the log, from which nothing is ever deleted, nor when to ask: the loop asks before every model call,
 * after a provider refused too large a context, after an answer was cut at the output limit, and on request.
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

/** What forces a compaction, whatever the strategy's own rules say. */
export type Force = "overflow" | "length" | "manual"

/**
 * Tokens, as the `Tokenizer` estimates them, corrected by what the provider reported of earlier calls. `tokens` and `fixed`
 * are counted when they are read: a copy made by spreading lacks them, one made by `withLimit` has them.
 */
export interface Size {
  /** of everything that would be sent: messages, instructions, tools, and input that waits */
  readonly tokens: number
  /** of the part that no compaction makes smaller: instructions, tools, what hooks add, and input that waits */
  readonly fixed: number
  /** how many may be sent: the model's window less what its answer may take; undefined when the window is not known */
  readonly limit: number | undefined
  /** tokens of a message, corrected in the same way */
  readonly of: (message: Message.Message) => number
  /** tokens of a text, not corrected: it may be for another model, and a budget is the same with any model */
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

/** What model calls for a compaction spend: it counts for the run, whatever becomes of the compaction. */
export interface Ledger {
  /** Whether the run's limits allow another call; to be asked before each. */
  readonly mayAsk: () => boolean
  /** Notes what a call spent, as soon as that is known; where its model is given, `Prices` add the cost. */
  readonly note: (usage: Usage.Usage, model?: Message.ModelRef) => void
  /** What was noted, with its cost where that is known. */
  readonly noted: () => Usage.Usage
}

/** What a strategy sees before a model call. */
export interface View {
  /** all that the model would be sent, except the instructions and what hooks add */
  readonly transcript: Transcript.Transcript
  /** what the run was given to work on, which input to it may follow; undefined where no run goes on from here */
  readonly input?: ReadonlyArray<Message.UserMessage> | undefined
  /** the model that is asked next */
  readonly model: Model.ModelInfo
  readonly size: Size
  /** undefined: nothing forces it, and the strategy's own rules say whether the context is too large */
  readonly force: Force | undefined
  /** compactions since the run's last answer */
  readonly inARow: number
  readonly ledger: Ledger
  /** what a strategy's own model calls carry as their metadata */
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
 * Replaces the messages of events up to `upTo` by `replacement`, and long tool results in what is kept up to `pruned`
 * by notes. Never splits a call from its result, keeps the latest user message word for word, and leaves less to be
 * sent than before: the loop refuses one that does not.
 */
export interface Compaction extends Omit<Transcript.Change, "memory"> {
  readonly strategy: string
  /** what is remembered from here on; if left out, what was remembered before stays */
  readonly memory?: Memory.Memory | undefined
  /** what was spent besides what the `Ledger` notes */
  readonly usage: Usage.Usage
  /** the model that spent it, if one was asked: `Prices` say what it cost */
  readonly model?: Message.ModelRef
  /** how other strategies failed that were tried for it, in words: the log has each as a compaction that failed */
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

/** Why there is nothing to compact, in words for the caller. */
export const nothingToLeaveOut =
  "nothing can be left out: the conversation is already as short as its latest message allows"

/** Keeps what a model is sent within its limits: says when it is too much, and leaves something out. */
export class ContextManager extends Context.Service<ContextManager, {
  /** the models that it may ask: a run with a cost limit needs their prices too */
  readonly models?: ReadonlyArray<Message.ModelRef>
  /**
   * Pure and total: the same view gives the same plan. Asks for a compaction only where one can make the context
   * smaller. For a view with `force`, `Send` means that nothing can be made smaller, or that nothing should be. One that throws,
   * or returns no plan, is warned of, and counts as `Send`.
   */
  readonly plan: (view: View) => Plan
  /**
   * `true`: gives each strategy that it asks the time of a compaction, and needs no limit around all of them. Default: it
   * is one strategy, and has failed when that time is over.
   */
  readonly keepsTime?: boolean
  /** Makes the context smaller or fails; may ask a model, whose usage counts for the run. Interrupting it changes nothing. */
  readonly compact: (request: Request) => Effect.Effect<Compaction, CompactionError>
}>()("fiberloop/services/ContextManager") {}
