/** Every strategy with arbitrary settings, and what must hold for each compaction it makes. */
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextPruning from "../../src/layers/ContextPruning.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import type * as Message from "../../src/run/Message.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Vector from "../../src/run/transcript/Vector.ts"
import type * as ContextManager from "../../src/services/ContextManager.ts"
import * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { type Dice, models } from "./Odd.ts"
import * as OddCondenser from "./OddCondenser.ts"
import * as Requests from "./Requests.ts"
import * as Views from "./Views.ts"

type Service = ContextManager.ContextManager["Service"]

/** One of the strategies. */
export const any = Effect.fnUntraced(function*(die: Dice): Effect.fn.Return<Service, never, Scope.Scope> {
  const keep = die.pick([0, 0.1, 0.3, 0.7, 0.95])
  const trigger = die.pick([{}, { maxTokens: 100 }, { compactThreshold: 3 }])
  const info = {
    provider: "test",
    name: "condenser",
    ...(die.chance(0.5) ? { contextWindow: die.pick([500, 4_000]) } : {})
  }
  const model = Context.get(yield* ScriptedModel.make(() => OddCondenser.answer(die), { info }), Model.Model)
  const budget = die.pick([1, 50, 2_000])
  const each = [
    () => ContextWindow.make({ ...trigger, keep }),
    () => ContextPruning.make({ ...trigger, keep }),
    () => ContextSummary.make(model, { ...trigger, keep, budget }),
    () => ContextKeyFacts.make(model, { ...trigger, keep, budget })
  ]
  return die.pick([...each, () => ContextChain.make(each.map((make) => make()).slice(die.int(3)))])()
})

interface Step {
  readonly change: Transcript.Change
  readonly after: Transcript.Transcript
}

/** Compacts as a run would, by an event `seq`; returns nothing if the strategy would not, or cannot and says why. */
export const compact = Effect.fnUntraced(function*(
  strategy: Service,
  transcript: Transcript.Transcript,
  seq: number,
  options: Views.Options
): Effect.fn.Return<Step | undefined> {
  const plan = strategy.plan(Views.view(transcript, options))
  if (plan._tag === "Send") return undefined
  const result = yield* Effect.result(strategy.compact(plan.request)).pipe(
    Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 0 }))
  )
  if (result._tag === "Failure") {
    assert.isNotEmpty(result.failure.message)
    return undefined
  }
  const { memory = Transcript.memory(transcript), pruned, replacement, upTo } = result.success
  const change = { upTo, replacement, memory, pruned }
  const after = Transcript.compact(transcript, change, seq)
  check(transcript, after, seq)
  return { change, after }
})

/** The laws of compactions. */
const check = (before: Transcript.Transcript, after: Transcript.Transcript, seq: number): void => {
  assert.isBelow(Views.tokens(after), Views.tokens(before))
  for (const reader of models) assert.strictEqual(Requests.violations(after, seq + 1, reader), "")
  // an answer that was cut off has no open calls, and may be left out like others
  const isLeftOut = after.open === undefined && before.open?.isCut === true
  assert.deepStrictEqual(after.open, isLeftOut ? undefined : before.open)
  const memories = Transcript.entries(after).filter(({ memory }) => memory !== undefined)
  assert.deepStrictEqual(memories.slice(1), [])
  // what waits for the end of a turn that says nothing is kept with the rest
  const waiting = Vector.toArray(before.waiting).filter(({ isNotice }) => !isNotice && before.open !== undefined)
  const latest = Transcript.latestSaid(before)?.content ?? []
  const said = parts(after, "user")
  for (const part of [...latest, ...waiting.flatMap(({ content }) => Vector.toArray(content))]) {
    assert.include(said, JSON.stringify(part))
  }
  const results = new Set(parts(before, "tool").map(resultOf))
  for (const result of parts(after, "tool").map(resultOf)) {
    assert.isTrue(results.has(result) || result.includes("characters of this output were left out"), result)
  }
}

const parts = (transcript: Transcript.Transcript, role: Message.Message["role"]): ReadonlyArray<string> =>
  Transcript.entries(transcript).flatMap(({ message }) =>
    message.role !== role || typeof message.content === "string"
      ? []
      : message.content.map((part) => JSON.stringify(part))
  )

/** Without the id, which depends on the place. */
const resultOf = (part: string): string => JSON.stringify({ ...JSON.parse(part) as object, id: "" })
