/** `fiberloop show --timeline`: where the time of a session went. Keeps only the turns that share an axis. */
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Timeline from "../../run/Timeline.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as Print from "../render/Print.ts"
import * as RenderTimeline from "../render/RenderTimeline.ts"
import * as TerminalText from "../render/TerminalText.ts"
import type { Settings } from "../Settings.ts"
import { Output } from "../terminal/Output.ts"

type PrintPage = (events: ReadonlyArray<RunEvent.Durable>) => Effect.Effect<void, Ended | Refusal, Output>

/** `forEachPage` reads the session from its first event to its last. */
export const show = Effect.fnUntraced(function*(
  place: Settings,
  sessionId: string,
  isFull: boolean,
  forEachPage: (print: PrintPage) => Effect.Effect<void, Ended | Refusal, Output>
): Effect.fn.Return<void, Ended | Refusal, Output> {
  const { stdout } = yield* Output
  const look = { paint: yield* Print.paintOf(place.isPlain), columns: stdout.columns(), isFull }
  let timeline = Timeline.empty
  let state = RenderTimeline.initial
  const shown = (entries: ReadonlyArray<Timeline.Entry>): string =>
    entries.map((entry) => {
      if (place.json) return `${TerminalText.json(JSON.stringify({ sessionId, ...entry }))}\n`
      const [next, text] = RenderTimeline.step(look, state, entry)
      state = next
      return text
    }).join("")

  yield* forEachPage((events) => {
    let page = ""
    for (const event of events) {
      const [next, entries] = Timeline.step(timeline, event)
      timeline = next
      page += shown(entries)
    }
    return Print.print(page)
  })
  yield* Print.print(shown(Timeline.finish(timeline)[1]))
  if (!place.json) yield* Print.print(RenderTimeline.finish(look, state))
})
