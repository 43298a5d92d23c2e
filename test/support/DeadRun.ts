/** What a dead process leaves behind: two tool calls under way, or whatever log is given. */
import * as Effect from "effect/Effect"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Drafts from "./Drafts.ts"
import * as TestAgent from "./TestAgent.ts"
import * as TestStore from "./TestStore.ts"

/** A store with the session "s", whose log is these events, of "run-1" unless a draft says otherwise. */
export const of = Effect.fnUntraced(function*(drafts: ReadonlyArray<Drafts.Placed>) {
  const store = yield* TestStore.make()
  yield* write(store, "s", drafts)
  return store
}, Effect.orDie)

/** Stores a log, of "run-1" unless a draft says otherwise, and releases the session. */
export const write = Effect.fnUntraced(function*(
  { service }: TestStore.TestStore,
  sessionId: string,
  drafts: ReadonlyArray<Drafts.Placed>
) {
  const session = yield* service.open(sessionId, { runId: "run-1", create: true })
  yield* session.append(Drafts.log(...drafts) as never)
}, Effect.scoped)

/** An agent's run, with the id of its session, that died before its model had answered. */
export const unanswered = (agent = "test/Tested", sessionId = "s"): ReadonlyArray<Drafts.Placed> => [
  { ...Drafts.started("go"), agent, runId: `${sessionId} run` },
  { ...Drafts.turnStarted(1), runId: `${sessionId} run` }
]

/** A run that died in these tools: each was called with its place, and started. */
export const inTools = (...tools: ReadonlyArray<string>): ReadonlyArray<Drafts.Placed> => [
  Drafts.started("go"),
  Drafts.turnStarted(1),
  Drafts.assistant(tools.map((tool, n) => Drafts.call(tool, { n }))),
  ...tools.map((tool, n) => ({ ...Drafts.toolStarted(`1.${n}`, { n }), tool }))
]

/** The end of a drive that died. */
export const crashed = { ...Drafts.aborted, reason: "crashed" as const }

/** What follows the first death of a run that dies again whenever it is resumed, `times` in all. */
export const again = (times: number): ReadonlyArray<Drafts.Placed> =>
  Array.from({ length: times - 1 }, (_, n) => [crashed, Drafts.resumed(n + 2, { cause: "recovery" })]).flat()

/**
 * A store with the session "s", in which the run "dead" has started two calls of `work`, and with `wasAborted` was
 * asked to abort.
 */
export const left = ({ wasAborted }: { readonly wasAborted: boolean }) =>
  leftBy([TestAgent.work(1, "a"), TestAgent.work(2, "b")], { toolPolicy: { maxParallel: 2 } }, wasAborted)

/** The same for a given agent and its calls, dead once its first intents were stored. */
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
