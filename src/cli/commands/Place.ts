/** The argument of the commands that look at kept sessions, and the settings from their flags. */
import * as Argument from "effect/cli/Argument"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Flags from "../Flags.ts"
import * as Settings from "../Settings.ts"

/** The one argument of these commands. */
export const session = Argument.String("session").pipe(
  Argument.withDescription("The id of a session, or its beginning, at least 6 characters, or last")
)

interface Typed {
  readonly db: Option.Option<string>
  readonly noColor: boolean
  readonly json?: boolean
  readonly root?: Option.Option<string>
  readonly contextWindow?: string | undefined
}

/** Where to look, and how to show it. */
export const settingsOf = Effect.fnUntraced(function*(
  { contextWindow, db, json = false, noColor, root = Option.none() }: Typed
) {
  return yield* Settings.check({
    db: Option.getOrUndefined(db),
    json,
    isPlain: noColor || (yield* Flags.isPlain),
    task: undefined,
    root: Option.getOrUndefined(root),
    model: undefined,
    maxTurns: undefined,
    contextWindow,
    session: undefined
  })
})
