/**
 * The golden sessions as recordings: each of their runs goes again as it went, from where it began in its session, or is refused for what
 * the log does not say.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SessionLines from "../../src/SessionLines.ts"
import * as Recorded from "../../src/testing/Recorded.ts"
import * as GoldenSession from "../golden/GoldenSession.ts"
import * as Replayed from "../support/Replayed.ts"

/** The runs that nobody sent anything to, that nothing cut off, and that no hook of their agent had a say in. */
const whole: Readonly<Record<string, ReadonlyArray<string>>> = {
  "session-v1": ["run-1", "run-2", "run-5", "run-6"],
  "session-v1-steering": ["run-4"],
  "session-v1-compaction": ["run-1", "run-4", "run-5"],
  "session-v1-answers": ["run-2"],
  "session-v1-team": ["worker"],
  "session-v1-paused": ["lead", "third"],
  "session-v1-beside": ["lead", "third"],
  "session-v1-marks": ["loop", "asked", "failed"],
  "session-v1-by-hand": ["talk0", "talk1", "talk2"],
  "session-v1-cut-off": ["failed"],
  "session-v1-goes-on": ["searches"],
  "session-v1-lost": ["answered"],
  "session-v1-kept": ["new", "quiet"],
  "session-v1-away": ["next"],
  "session-v1-elsewhere": ["run-3"],
  "session-v1-shown": ["run-1", "run-2"],
  "session-v1-told": ["run-1", "run-2"],
  "session-v1-unfinished": ["run-4"],
  "session-v1-suspended": [],
  "session-v1-sources": ["run-1", "run-2"]
}

it("each golden session has its row", () =>
  assert.deepStrictEqual(Object.keys(whole), GoldenSession.all.map(({ name }) => name)))

for (const golden of GoldenSession.all) {
  describe(`the golden session ${golden.name}`, () => {
    const eventsOf = Effect.map(SessionLines.decode(Stream.fromIterable(golden.lines)), ({ events }) => events)

    it.effect("goes again as it went, or is refused", () =>
      Effect.gen(function*() {
        const events = yield* eventsOf
        const went: Array<string> = []
        for (const input of Recorded.inputs(events)) {
          const at = events.findIndex(({ _tag, runId }) => _tag === "RunStarted" && runId === input.runId)
          const before = events.slice(0, at)
          const { log, problem } = yield* Replayed.replay(events, { inputs: [input], before })
          if (problem !== "") {
            assert.match(problem, /^Recorded\.model: (turn \d+ of )?run "/)
            continue
          }
          went.push(input.runId)
          assert.deepStrictEqual(Replayed.facts(log, input.runId), Replayed.facts(events, input.runId))
        }
        assert.deepStrictEqual(went, whole[golden.name])
      }))
  })
}
