/** The moment when a drive takes up nothing more, but its writer is still there. */
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as WaitingCalls from "../../../src/loop/env/WaitingCalls.ts"
import * as Fold from "../../../src/loop/log/Fold.ts"
import * as Journal from "../../../src/loop/log/Journal.ts"
import * as Answering from "../../../src/loop/round/Answering.ts"
import * as Suspended from "../../support/Suspended.ts"

it.effect("an answer to a drive that takes up nothing more is not recorded through it", () =>
  Effect.gen(function*() {
    const { store } = yield* Suspended.make()
    const session = yield* store.service.open("s", { runId: "r", create: false })
    const folded = yield* Fold.fold(store.service, "s", Fold.nothing)
    const clock = yield* Clock.Clock
    const waitingCalls = new WaitingCalls.WaitingCalls()
    const journal = Journal.make({ session, runId: "r", ...folded, feed: { publish: () => {} }, clock })
    const record = Answering.record({ waitingCalls, journal }, store.service, {
      sessionId: "s",
      approvalId: "r/1.0",
      approved: true
    })
    waitingCalls.close()
    const head = store.head("s")
    assert.isFalse(yield* record)
    assert.strictEqual(journal.state.seq, head)
    waitingCalls.isOpen = true
    assert.isTrue(yield* record)
    assert.strictEqual(store.head("s"), head + 1)
  }))
