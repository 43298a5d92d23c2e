/** What holds whatever is done to an agent in which everything may go wrong: programs of random operations. */
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import * as Fold from "../../src/loop/log/Fold.ts"
import type * as Delivery from "../../src/run/Delivery.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Hang from "../support/Hang.ts"
import * as Logs from "../support/Logs.ts"
import * as LogSums from "../support/LogSums.ts"
import * as Programs from "../support/Programs.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import type * as TestStore from "../support/TestStore.ts"

type Log = ReadonlyArray<RunEvent.Durable>

/** How something ended that should have ended differently. */
const ending = (exit: Exit.Exit<unknown, unknown> | undefined): ReadonlyArray<string> => {
  if (exit === undefined) return ["never ends"]
  return Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? [`dies: ${Cause.pretty(exit.cause)}`] : []
}

/** Whether the log says of these words what their sender was told. */
const delivery = (log: Log, words: string, told: Delivery.Delivery): ReadonlyArray<string> => {
  const places = log.flatMap((event, i) =>
    event._tag === "InputReceived" && JSON.stringify(event.messages).includes(words) ? [i] : []
  )
  if (told._tag === "NotDelivered") return places.length === 0 ? [] : [`"${words}" was delivered`]
  if (told._tag === "Kept") {
    const seq = log.find((event) => event._tag === "InputQueued" && JSON.stringify(event.messages).includes(words))?.seq
    const isKept = log.some((event) => RunEvent.isEnd(event) && RunEvent.keptBy(event).some((kept) => kept === seq))
    // whoever goes on may end without it
    return isKept && places.length <= 1 ? [] : [`"${words}" is not kept`]
  }
  if (places.length !== 1) return [`"${words}" was delivered ${places.length} times`]
  const next = log.slice(places[0]).find((event) => event._tag === "TurnStarted" || RunEvent.isEnd(event))
  return next?._tag === "TurnStarted" && next.turn !== told.turn ? [`"${words}" is not of turn ${told.turn}`] : []
}

/** Whether whoever opens the session is given what the log says. */
const opening = Effect.fnUntraced(function*(store: TestStore.TestStore, sessionId: string, log: Log) {
  const { state, transcript } = yield* Fold.fold(store.service, sessionId, Fold.nothing)
  const messages = (transcript: Transcript.Transcript) => JSON.stringify(Transcript.messages(transcript))
  return [
    ...JSON.stringify(state) === JSON.stringify(log.reduce(RunState.evolve, RunState.empty)) ? [] : ["another state"],
    ...messages(transcript) === messages(Transcript.fromLog(log)) ? [] : ["another transcript"]
  ]
})

/** Whether the next message is answered. */
const hello = Effect.fnUntraced(function*(store: TestStore.TestStore, sessionId: string) {
  const { agent } = yield* TestAgent.make(() => ScriptedModel.text("hello!"), { store })
  const fiber = yield* Effect.forkDetach(Effect.exit(agent.run({ sessionId, input: "hello" })))
  yield* TestClock.adjust("1 hour")
  if (!(yield* Hang.ends(Fiber.await(fiber)))) return ["hello never ends"]
  const exit = yield* Fiber.join(fiber)
  return Exit.isSuccess(exit) && exit.value.text === "hello!" ? [] : [`hello came to ${JSON.stringify(exit)}`]
})

it.effect.prop(
  "everything begun ends; logs, readers, limits and sums are right; nothing runs twice; and hello is answered",
  [Logs.seed],
  ([seed]) =>
    Effect.gen(function*() {
      const { done, fibers, problems, ran, sessions, store, told } = yield* Programs.play(seed)
      for (const [name, fiber] of fibers) problems.push(...ending(fiber.pollUnsafe()).map((what) => `${name} ${what}`))
      for (const [key, times] of ran) if (times > 1) problems.push(`${key} ran ${times} times`)
      for (const sessionId of sessions) {
        const found = [
          ...RunLog.violations(yield* store.log(sessionId), true),
          ...yield* hello(store, sessionId)
        ]
        const log = yield* store.log(sessionId)
        found.push(
          ...RunLog.violations(log),
          ...LogSums.spending(log),
          ...LogSums.limited(log),
          ...yield* opening(store, sessionId, log)
        )
        for (const [at, words, how] of told) if (at === sessionId) found.push(...delivery(log, words, how))
        problems.push(...found.map((what) => `${sessionId}: ${what}`))
      }
      assert.deepStrictEqual(problems, [], `${seed}: ${done.join(" ")}`)
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))),
  { arbitrary: { runs: 100, seed: "programs" }, timeout: 60_000 }
)
