/**
 * Generated sessions, cut at every event and compacted there by any strategy, up to three times in a row. Some of them here,
 * 10,000 with `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Compactions from "../support/Compactions.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import { dice } from "../support/Odd.ts"
import * as Requests from "../support/Requests.ts"
import * as Strategies from "../support/Strategies.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"
const runs = isWhole ? 10_000 : 40
const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "compactions" }, timeout: 3_600_000 })

let compacted = 0

it.effect.prop(
  "a session compacted at any event, up to three times, stays legal and can continue",
  [Logs.odd, Logs.seed],
  ([played, seed]) =>
    Effect.gen(function*() {
      const die = dice(seed)
      const log = Compactions.lengthen(played.log, seed)
      let transcript = Transcript.empty
      for (const [i, event] of log.entries()) {
        transcript = Transcript.append(transcript, event)
        const first = yield* Strategies.any(die)
        let now = transcript
        const seq = i + 2
        for (let n = 1 + die.int(3); n > 0; n--) {
          const options = {
            ...(die.chance(0.7) ? { force: die.pick(["overflow", "length", "manual"] as const) } : {}),
            ...(die.chance(0.7) ? { limit: die.pick([50, 500, 5_000]), fixed: die.pick([0, 40, 600]) } : {})
          }
          const strategy = die.chance(0.5) ? first : yield* Strategies.any(die)
          const step = yield* Strategies.compact(strategy, now, seq, options)
          if (step === undefined) break
          compacted++
          now = step.after
        }
        if (now === transcript) continue
        // later events move back by the most compactions there can be
        for (const later of log.slice(i + 1)) {
          now = Transcript.append(now, { ...later, seq: later.seq + 3 } as RunEvent.Durable)
        }
        assert.strictEqual(Requests.violations(now, log.length + 9, Draft.model), "")
      }
    }).pipe(Effect.scoped),
  check(runs)
)

it("the property above has compacted often enough to count", () => assert.isAbove(compacted, runs * 4))

it.effect.prop(
  "reading a compacted session from its last compaction equals reading it from the beginning",
  [Logs.odd, Logs.seed],
  ([played, seed]) =>
    Effect.gen(function*() {
      const log = yield* Compactions.carryOut(Compactions.lengthen(played.log, seed), seed)
      Compactions.checkSame(Compactions.withSnapshots(log))
    }).pipe(Effect.scoped),
  check(isWhole ? 2_000 : 40)
)
