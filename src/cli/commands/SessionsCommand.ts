/** `fiberloop sessions`: those that are kept, last changed first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Database from "../Database.ts"
import * as Messages from "../Messages.ts"
import { Output } from "../Output.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as EndLine from "../render/EndLine.ts"
import * as Print from "../render/Print.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as Settings from "../Settings.ts"
import type { Signals } from "../Signals.ts"

export interface Options {
  readonly place: Settings.Settings
  readonly limit: string | undefined
}

/** As many as people read at once; programs get all. */
const defaultLimit = 20

const list = Effect.fnUntraced(function*(
  { limit, place }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { stderr, stdout } = yield* Output
  const most = (yield* Settings.whole("--limit", limit)) ?? (place.json ? undefined : defaultLimit)
  const store = yield* Database.existing(place)
  const found = store === undefined
    ? []
    : yield* Effect.mapError(store.list(most === undefined ? {} : { limit: most + 1 }), Messages.refusal)
  if (found.length === 0) {
    return yield* stderr.write(
      `fiberloop: there are no sessions yet in ${JSON.stringify(Settings.shown(place.db))}: ` +
        `${EndLine.command("run", [], place.flags)} "<task>" begins one\n`
    )
  }
  const shown = found.slice(0, most)
  const look = {
    paint: yield* Print.paintOf(place.isPlain),
    columns: stdout.isTerminal ? stdout.columns() : Infinity,
    now: yield* Clock.currentTimeMillis
  }
  yield* Print.print(place.json ? shown.map(RenderSessions.json).join("") : RenderSessions.lines(shown, look))
  if (shown.length < found.length) {
    const more = EndLine.command("sessions", ["--limit", String(2 * shown.length)], place.flags)
    yield* stderr.write(`There are more: ${more}\n`)
  }
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  Print.untilSignal(Effect.scoped(list(options)))
