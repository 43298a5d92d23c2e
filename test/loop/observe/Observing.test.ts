/** What observes a drive, after its result is known. */
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"
import * as Feed from "../../../src/loop/log/Feed.ts"
import * as Observing from "../../../src/loop/observe/Observing.ts"
import * as Telemetry from "../../../src/loop/observe/Telemetry.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as TestStore from "../../support/TestStore.ts"

/** Keeps the attributes that it gets after its end, of which many tracers complain. */
class Strict extends Tracer.NativeSpan {
  readonly late: Array<string> = []
  override attribute(key: string, value: unknown): void {
    if (this.status._tag === "Ended") this.late.push(key)
    else super.attribute(key, value)
  }
}

it.effect("a span that has ended is told nothing of an end that the store takes too late", () =>
  Effect.gen(function*() {
    const spans: Array<Strict> = []
    const span = (options: ConstructorParameters<typeof Strict>[0]) => {
      const made = new Strict(options)
      spans.push(made)
      return made
    }
    const drive = { agent: "test/Agent", sessionId: "s", runId: "run-1", tools: {} }
    const feed = new Feed.Feed((yield* TestStore.make()).service, "s", false, () => [])
    const clock = yield* Clock.Clock
    yield* Effect.gen(function*() {
      const telemetry = yield* Telemetry.make("test/Agent")
      const observing = yield* Observing.make(drive, Drafts.model, feed, { clock, observers: [], telemetry })
      observing.start(RunState.empty, undefined)
      observing.publish(Drafts.log(Drafts.started("go")))
      yield* observing.end(Exit.void)
      observing.publish(Drafts.log(Drafts.completed()))
    }).pipe(Effect.provideService(Tracer.Tracer, Tracer.make({ span })))
    assert.deepStrictEqual(spans.map(({ late, status }) => [status._tag, late]), [["Ended", []]])
  }))
