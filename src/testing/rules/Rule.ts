/** What a rule of `LogRules` is. */
import type * as RunEvent from "../../run/RunEvent.ts"

/** Gets the events of a log in turn, and says what is wrong with one. */
export type Rule = (event: RunEvent.Durable, say: (what: string) => void) => void
