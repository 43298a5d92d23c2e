/** What a process leaves that died while two tool calls were under way. */
import * as Effect from "effect/Effect"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "./TestAgent.ts"
import * as TestStore from "./TestStore.ts"

/**
 * A store with the session "s", in which the run "dead" has two calls of `work` started, and with `wasAborted` was asked
 * to abort.
 */
export const left = ({ wasAborted }: { readonly wasAborted: boolean }) =>
  leftBy([TestAgent.work(1, "a"), TestAgent.work(2, "b")], { toolPolicy: { maxParallel: 2 } }, wasAborted)

/** The same of an agent and its calls as they are given, dead once its first intents were stored. */
export const leftBy = Effect.fnUntraced(function*(
  calls: ReadonlyArray<ScriptedModel.Step>,
  agentOptions: TestAgent.Options["agent"] = {},
  wasAborted = false
) {
  const whole = yield* TestStore.make()
  const { agent } = yield* TestAgent.make([calls, ScriptedModel.text("done")], { store: whole, agent: agentOptions })
  yield* agent.run({ sessionId: "s", runId: "dead", input: "go" })
  const started = whole.appends.findIndex((events) => events.some(({ _tag }) => _tag === "ToolStarted"))
  const { at, runId, seq, version } = whole.appends[started]!.at(-1)!
  const store = yield* TestStore.make()
  yield* Effect.scoped(Effect.gen(function*() {
    const session = yield* store.service.open("s", { runId, create: true })
    for (const events of whole.appends.slice(0, started + 1)) yield* session.append(events)
    if (!wasAborted) return
    yield* session.append([{ _tag: "AbortRequested", seq: seq + 1, at, runId, version, reason: "requested" }])
  })).pipe(Effect.orDie)
  return store
}, Effect.orDie)
