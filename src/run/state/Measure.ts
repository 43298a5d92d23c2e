/**
 * How the estimated size of what a model is sent compares with what its provider counts. Part of the fold of
 * `RunState`: total and pure.
 *
 * Does not own the estimate, nor what is too much.
 */
import type * as DurableEvent from "../DurableEvent.ts"
import * as Message from "../Message.ts"

export interface Measure {
  readonly model: Message.ModelRef
  /** tokens of what was sent last, as estimated */
  readonly sent: number
  /** the provider's count divided by the estimate, for the last call that measures it; undefined before the first */
  readonly ratio: number | undefined
  /** the smallest estimate that it has refused as too much since its last answer */
  readonly tooMuch: number | undefined
}

/** What is known about one model says nothing about another. */
export const send = (
  self: Measure | undefined,
  { model, size }: DurableEvent.Of<"TurnStarted">
): Measure | undefined => {
  if (size === undefined || !(size > 0)) return self
  const known = self !== undefined && Message.isSameModel(self.model, model)
    ? self
    : { ratio: undefined, tooMuch: undefined }
  return { model, sent: size, ratio: known.ratio, tooMuch: known.tooMuch }
}

/**
 * An answer that the provider did not count leaves the ratio as it is, and so does one for which it used tools of its own: its count
 * has what they found, too. One of a model that took over measures nothing.
 */
export const answer = (self: Measure | undefined, event: DurableEvent.Of<"AssistantMessage">): Measure | undefined => {
  const { message, usage: { inputTokens } } = event
  if (self === undefined || !Message.isSameModel(self.model, event.model)) return self
  const isCounted = inputTokens > 0 && !message.content.some(isByProvider)
  return { ...self, tooMuch: undefined, ratio: isCounted ? inputTokens / self.sent : self.ratio }
}

const isByProvider = (part: Message.AssistantPart): boolean =>
  part.type === "tool-result" || (part.type === "tool-call" && part.providerExecuted === true)

export const discard = (self: Measure | undefined, event: DurableEvent.Of<"AttemptDiscarded">): Measure | undefined =>
  self === undefined || event.error._tag !== "ContextOverflow" ||
    (event.model !== undefined && !Message.isSameModel(self.model, event.model))
    ? self
    : { ...self, tooMuch: Math.min(self.tooMuch ?? Infinity, self.sent) }

/** The factor for an estimate for `model`, when `limit` tokens may be sent. Odd counts are not believed. */
export const correction = (self: Measure | undefined, model: Message.ModelRef, limit: number): number => {
  if (self === undefined || !Message.isSameModel(self.model, model)) return 1
  const told = Math.min(4, Math.max(0.25, self.ratio ?? 1))
  // what was too much is more than the limit, whatever was counted before
  return self.tooMuch === undefined ? told : Math.max(told, limit / self.tooMuch)
}
