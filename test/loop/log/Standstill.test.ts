/** When a run that has waited for people goes on. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Fold from "../../../src/loop/log/Fold.ts"
import * as Standstill from "../../../src/loop/log/Standstill.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as Draft from "../../support/Drafts.ts"

const calls = Draft.assistant([Draft.call("search"), Draft.call("search")])
const [started, turn, answer, asked, resolved, settled] = Draft.log(
  Draft.started("go"),
  Draft.turnStarted(1),
  calls,
  Draft.approvalRequested("1.0"),
  Draft.approvalResolved("1.0"),
  Draft.settled("1.0", "ok")
)

const folded = (...events: ReadonlyArray<RunEvent.Durable>) => {
  const folding = new Standstill.Folding(Fold.nothing)
  for (const event of events) folding.take(event)
  return folding
}

describe("a run that waits for a person", () => {
  const waiting = [started, turn, answer, asked] as const

  it.effect.each<readonly [string, (folding: Standstill.Folding) => void]>([
    ["with the answer", (folding) => folding.take(resolved)],
    ["with the outcome of the call", (folding) => folding.take(settled)],
    ["where the question is left out of the log", (folding) => folding.putBack(folded(started, turn, answer))]
  ])("goes on %s, and not before", ([, goOn]) =>
    Effect.gen(function*() {
      const folding = folded(...waiting)
      const fiber = yield* Effect.forkChild(folding.goesOn, { startImmediately: true })
      assert.isUndefined(fiber.pollUnsafe())
      goOn(folding)
      yield* Fiber.join(fiber)
    }))
})

it.effect("a run that waits for nobody goes on at once", () => folded(started, turn, answer).goesOn)
