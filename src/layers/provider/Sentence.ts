/** A provider's refusal in one sentence, for the person who set the provider up: who answered what, and what to do about it. */
import * as Advice from "./Advice.ts"
import type * as ProviderErrorKind from "./ProviderErrorKind.ts"

interface Answer extends Advice.Circumstances {
  /** who answered */
  readonly host: string
  /** what happened, where there was no answer */
  readonly how?: string | undefined
  /** the provider's own words */
  readonly message?: string | undefined
}

const longestMessage = 500

/** A text from elsewhere as a message may repeat it: 500 characters at most. */
export const cut = (text: string): string =>
  text.length > longestMessage ? `${text.slice(0, longestMessage).toWellFormed()}...` : text

/** `redact` removes secrets before the words are cut. */
export const of = (
  kind: ProviderErrorKind.Kind,
  { host, how, message, ...circumstances }: Answer,
  redact: (text: string) => string = (text) => text
): string => {
  const { status } = circumstances
  const answered = how ?? `answered ${status === undefined ? "with an error" : `HTTP ${status}`}`
  const words = message === undefined ? "" : `: ${cut(redact(message.trim()).replace(/(?<!\.)\.$/, ""))}`
  return `${host} ${answered}${words} (${Advice.of(kind, circumstances)})`
}
