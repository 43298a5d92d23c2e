/** How flags are written, and the settings of the environment. */
import * as Flag from "effect/cli/Flag"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

export const switched = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

export const db = text(
  "db",
  "<file|url>",
  "Where sessions are kept: a file or postgres://...; default: .fiberloop/sessions.db here"
)
export const contextWindow = text(
  "context-window",
  "<n>",
  "The model's context window in tokens; more is shortened; default: FIBERLOOP_CONTEXT_WINDOW"
)
export const noColor = switched("no-color", "No colours, no spinner, no control codes")

/** A setting of the environment; a blank one counts as absent. */
export const environment = (name: string): Effect.Effect<string | undefined> =>
  Config.option(Config.String(name)).pipe(
    Effect.map((value) => Option.getOrUndefined(value)?.trim() || undefined),
    Effect.orElseSucceed(() => undefined)
  )

/** What `--context-window` says, else the environment. */
export const windowOf = (typed: Option.Option<string>): Effect.Effect<string | undefined> =>
  Option.isSome(typed) ? Effect.succeed(typed.value) : environment("FIBERLOOP_CONTEXT_WINDOW")

/** Whether no colours are wanted, whatever the terminal can do. */
export const isPlain: Effect.Effect<boolean> = Effect.gen(function*() {
  return (yield* environment("NO_COLOR")) !== undefined || (yield* environment("TERM")) === "dumb"
})
