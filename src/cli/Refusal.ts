/** What the command refuses to do, in one line, and the exit codes. */
import * as Data from "effect/Data"

/** `line` names the thing and what to do about it; `code` is the exit code. */
export class Refusal extends Data.TaggedError("Refusal")<{
  readonly line: string
  readonly code: Exclude<typeof codes[keyof typeof codes], 0>
}> {}

/** Refuses an unusable input. */
export const badInput = (line: string): Refusal => new Refusal({ line, code: codes.failed })

/** Refuses a value that its flag does not take, whatever the command finds. */
export const badValue = (line: string): Refusal => new Refusal({ line, code: codes.usage })

/** Ends the command with this code; everything has been said. */
export class Ended extends Data.TaggedError("Ended")<{ readonly code: number }> {}

export const codes = {
  completed: 0,
  failed: 1,
  usage: 2,
  /** as for a process that SIGPIPE ended */
  readerLeft: 141,
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143
} as const
