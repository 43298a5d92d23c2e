/** What holds of runs whose calls wait for people below them, whatever is done to them: programs of random steps. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as RunResult from "../../src/run/RunResult.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as Family from "../support/Family.ts"
import * as Logs from "../support/Logs.ts"
import { type Dice, dice } from "../support/Odd.ts"

const times = <A>(n: number, make: () => A): ReadonlyArray<A> => Array.from({ length: n }, make)

const planOf = (die: Dice, depth: number): Family.Plan => ({
  input: 1 + die.int(9),
  by: die.pick(["ask", "ask", "order", "buy"]),
  turns: depth === 0 ? [] : times(die.int(3), () => times(1 + die.int(2), () => planOf(die, depth - 1)))
})

/** Has one to three runs work for a call, and waits for those that ask. */
const several: Family.Handler = (client, plan, { idempotencyKey }) =>
  Effect.gen(function*() {
    const input = JSON.stringify(plan)
    const ids = [idempotencyKey, `${idempotencyKey}~1`, `${idempotencyKey}~2`].slice(-1 - (plan.input ?? 0) % 3)
    const results = yield* Effect.forEach(ids, (runId, at) => client.run({ runId, input: at === 0 ? "{}" : input }))
    const [first, ...more] = results.filter(({ _tag }) => _tag === "Suspended")
    return first === undefined ? "done" : yield* ToolCall.pause(first, ...more)
  })

const play = Effect.fnUntraced(function*(seed: number) {
  const die = dice(seed)
  const done: Array<string> = []
  let made = yield* Family.make({ handler: several })
  const say = Effect.suspend(() => made.agent.run({ sessionId: "root", input: JSON.stringify(planOf(die, 2)) }))
  const resume = Effect.suspend(() => made.agent.resumeRun({ sessionId: "root" }))
  const decide = (approved: boolean) => ({ id, sessionId }: RunResult.Approval) =>
    made.agent.decide({ sessionId, approvalId: id, approved })
  let result = yield* say
  for (let n = 0; n < 5; n++) {
    if (die.chance(0.5)) made = yield* Family.make({ handler: several, store: yield* Family.leftBy(made.store) })
    const questions = yield* made.agent.approvals("root")
    const isSaid = result._tag !== "Suspended" || die.chance(0.2)
    done.push(isSaid ? "say" : `answer some of ${questions.length} and resume`)
    if (!isSaid) yield* Effect.forEach(questions.filter(() => die.chance(0.6)), decide(die.chance(0.8)))
    result = yield* isSaid ? say : resume
    const violations = Family.violations(yield* made.logs)
    assert.deepStrictEqual(violations, [], `seed ${seed}: ${done.join(", ")}`)
  }
  for (let n = 0; result._tag === "Suspended" && n < 20; n++) {
    yield* Effect.forEach(yield* made.agent.approvals("root"), decide(true))
    result = yield* resume
  }
  assert.strictEqual(result._tag, "Completed", `seed ${seed}: ${done.join(", ")}`)
})

it.effect.prop(
  "spending below calls is counted once, each call has one outcome, and all that is answered runs to its end",
  [Logs.seed],
  ([seed]) => Effect.scoped(play(seed)),
  { arbitrary: { runs: 20, seed: "paused" }, timeout: 30_000 }
)
