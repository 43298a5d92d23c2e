/** A Postgres that is killed and restarted under many runs: nothing acknowledged is lost, and every run completes. */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import type * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as LogRules from "../../src/testing/LogRules.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Postgres from "../support/Postgres.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"
const runs = isWhole ? 200 : 40
/** How many events are acknowledged between two deaths of the server. */
const eventsPerLife = 100
const toolTurns = 4

const kit = Toolkit.make(Tool.make("pay", { success: Schema.String, dependencies: [ToolCall] }))
const model = ScriptedModel.layer(({ metadata: { turn } }) =>
  turn <= toolTurns
    ? [ScriptedModel.delay("10 millis"), ScriptedModel.call("pay", {})]
    : ScriptedModel.text("done")
)

/** A server that dies whenever enough events were acknowledged, and comes back. */
const makeServer = Effect.gen(function*() {
  const postgres = yield* Effect.acquireRelease(
    Effect.promise(() => Postgres.start()),
    ({ remove }) => Effect.promise(remove)
  )
  let acknowledged = 0
  let deaths = 0
  let due = Deferred.makeUnsafe<void>()
  const up = Latch.makeUnsafe(true)
  const die = Effect.gen(function*() {
    up.closeUnsafe()
    yield* Effect.promise(() => postgres.kill())
    // processes of the previous server may hold its files for a moment
    yield* Effect.retry(Effect.tryPromise(() => postgres.start()), {
      times: 50,
      schedule: Schedule.spaced("100 millis")
    })
    deaths++
    due = Deferred.makeUnsafe()
    up.openUnsafe()
  })
  const dying = Effect.andThen(Effect.suspend(() => Deferred.await(due)), Effect.uninterruptible(die))
  yield* Effect.forkScoped(Effect.forever(dying))
  return {
    url: postgres.url,
    isUp: up.await,
    deaths: () => deaths,
    acknowledge: (events: number) => {
      const before = acknowledged
      acknowledged += events
      if (Math.floor(acknowledged / eventsPerLife) > Math.floor(before / eventsPerLife)) {
        Deferred.doneUnsafe(due, Effect.void)
      }
    }
  }
})

it.live(
  `Postgres: killed repeatedly under ${runs} runs, it loses nothing acknowledged, and all runs complete`,
  () =>
    Effect.gen(function*() {
      const server = yield* makeServer
      const paid: Array<string> = []
      const handlers = kit.toLayer({
        pay: () =>
          Effect.map(ToolCall, ({ idempotencyKey }) => {
            paid.push(idempotencyKey)
            return `paid ${idempotencyKey}`
          })
      })
      const store = SessionStorePg.layer({ url: server.url })
      const below = yield* Layer.build(Layer.mergeAll(store, handlers, model, Fiberloop.layer))
      const agent = yield* Agent.make({ instructions: "Pay.", toolkit: kit }).pipe(Effect.provide(below))

      /** What a customer does: asks, and tries again until the run completes. */
      const drive = Effect.fnUntraced(function*(sessionId: string) {
        const seen = new Map<number, string>()
        const watch = (events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>) =>
          events.pipe(
            Stream.filter(RunEvent.isDurable),
            Stream.runForEachArray((events) =>
              Effect.sync(() => {
                for (const event of events) seen.set(event.seq, JSON.stringify(event))
                server.acknowledge(events.length)
              })
            ),
            Effect.exit
          )
        let exit = yield* watch(agent.stream({ sessionId, runId: sessionId, input: "pay" }))
        for (let tries = 0; Exit.isFailure(exit); tries++) {
          assert.isBelow(tries, 100, String(exit.cause))
          yield* server.isUp
          const hasBegun = seen.size > 0
          exit = yield* watch(
            hasBegun ? agent.resume({ sessionId }) : agent.stream({ sessionId, runId: sessionId, input: "pay" })
          )
        }
        return { sessionId, seen }
      })
      const driven = yield* Effect.forEach(
        Array.from({ length: runs }, (_, n) => `s${n}`),
        drive,
        { concurrency: 20 }
      )
      yield* server.isUp
      assert.isAbove(server.deaths(), 2)
      assert.strictEqual(new Set(paid).size, paid.length)

      const read = yield* Effect.map(SessionStore.SessionStore, ({ read }) => read).pipe(Effect.provide(below))
      for (const { seen, sessionId } of driven) {
        const log = yield* Stream.runCollect(read(sessionId))
        assert.deepStrictEqual(LogRules.violations(log), [])
        assert.strictEqual(log.at(-1)?._tag, "RunCompleted")
        for (const [seq, event] of seen) assert.strictEqual(JSON.stringify(log[seq - 1]), event)
      }
      if (isWhole) console.log(`${runs} runs, ${server.deaths()} deaths of the server, ${paid.length} payments`)
    }),
  isWhole ? 600_000 : 60_000
)
