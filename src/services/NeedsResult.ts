/**
 * Tools that only a person answers, such as a question to the user: an annotation of the tool. Every call of it asks, a yes
 * must give a `result`, and the handler is never called.
 *
 * Does not own how a result is given (`decide`, `Approver`).
 */
import * as Context from "effect/Context"

/** `Tool.make("ask_user", ...).annotate(NeedsResult, true)`. Default `false`. */
export const NeedsResult = Context.Reference<boolean>("fiberloop/services/NeedsResult", { defaultValue: () => false })
