/**
 * How spans end that adapters make, or that are made for them: with an error's tag only. Its words may repeat what was said,
 * and are in a span only where content is recorded.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"

export class Failure extends Error {
  constructor(tag: string) {
    super(tag)
    this.name = tag
    this.stack = tag
  }
}

/** `exit` without words: a failure with a reason becomes that reason's tag, any other `Unknown`; interruption stays. */
export const of = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
    ? exit
    : Exit.fail(new Failure(tagOf(Cause.squash(exit.cause))))

const tagOf = (error: unknown): string => {
  const { reason } = Object(error) as { readonly reason?: { readonly _tag?: unknown } }
  return typeof reason?._tag === "string" ? reason._tag : "Unknown"
}
