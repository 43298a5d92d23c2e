/** The table at the head of `Unsettled`: what becomes of each open call, by who settles it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ToolExecutorToolkit from "../../../src/layers/ToolExecutorToolkit.ts"
import * as Budget from "../../../src/loop/env/Budget.ts"
import type * as Definition from "../../../src/loop/env/Definition.ts"
import * as Env from "../../../src/loop/env/Env.ts"
import * as Settings from "../../../src/loop/env/Settings.ts"
import * as Fold from "../../../src/loop/log/Fold.ts"
import * as ToolHooks from "../../../src/loop/round/ToolHooks.ts"
import * as Unsettled from "../../../src/loop/round/Unsettled.ts"
import * as Brief from "../../../src/loop/start/Brief.ts"
import type * as ToolOutcome from "../../../src/run/ToolOutcome.ts"
import * as Hooks from "../../../src/services/Hooks.ts"
import * as Reconciler from "../../../src/services/Reconciler.ts"
import * as DeadRun from "../../support/DeadRun.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestAgent from "../../support/TestAgent.ts"

const id = "1.0"

/** How far a call of a run got that died once and is resumed: with its first drive, and with this one. */
interface Call {
  readonly before?: ReadonlyArray<Drafts.Placed>
  readonly here?: ReadonlyArray<Drafts.Placed>
  /** `work` unless given; `again` may be made again */
  readonly tool?: "work" | "again"
  readonly hook?: Hooks.Hook
  /** what its hook looks at */
  readonly held?: "ran" | "answered"
  /** the outcome that it was left behind with */
  readonly left?: ToolOutcome.ToolOutcome
  /** what the reconciler says; that it is done unless given */
  readonly answer?: Reconciler.Answer
}

const guard: Hooks.Hook = {
  name: "guard",
  afterToolCall: () => Effect.succeed({ outcome: { _tag: "Succeeded", result: "seen" } })
}
const observer: Hooks.Hook = { ...guard, name: "observer", kind: "observer" }

const started = Drafts.toolStarted(id)
const asked = Drafts.approvalRequested(id)
const allowed = Drafts.approvalResolved(id)
const paused = Drafts.toolPaused(id, { sessionId: "below", runId: "below" })
const answered = [asked, { ...allowed, result: "given" }]

/** The environment of the drive that resumed the run, which is `by`'s. */
const envOf = Effect.fnUntraced(function*({ before = [], here = [], hook, tool = "work" }: Call, by: string) {
  const store = yield* DeadRun.of([
    Drafts.started("go"),
    Drafts.turnStarted(1),
    Drafts.assistant([Drafts.call(tool)]),
    ...before,
    DeadRun.crashed,
    Drafts.resumed(2),
    ...here
  ])
  const session = yield* store.service.open("s", { runId: "run-1", create: false })
  const folded = yield* Fold.fold(store.service, "s", Fold.nothing)
  const run = () => Effect.succeed("")
  const handlers = yield* Effect.provide(TestAgent.kit, TestAgent.kit.toLayer({ work: run, look: run, again: run }))
  const definition: Definition.Definition = {
    name: by,
    instructions: "",
    handlers: handlers as never,
    timeouts: {},
    limits: {},
    output: undefined,
    toolPolicy: {},
    doomLoop: undefined,
    rules: {}
  }
  const settings = yield* Effect.provideService(
    Settings.shared(definition),
    Hooks.Hooks,
    hook === undefined ? [] : [hook]
  )
  const brief = yield* Brief.ofLog(definition, folded.state.input!, yield* Effect.fromResult(settings.timeouts))
  const of = { sessionId: "s", runId: "run-1" }
  const others = Env.nobody(new Budget.Budget(of))
  const services = { executor: ToolExecutorToolkit.make } as Env.Services
  const env = Env.make(services, { ...of, brief, settings }, others, { ...folded, session })
  return { env, log: store.log("s") }
})

type Way = (env: Env.Env) => Effect.Effect<unknown, unknown>

const after = (reason: Unsettled.Reason, isAsked: boolean): Way => (env) =>
  Effect.andThen(Unsettled.settleAfter(env, reason, isAsked), env.journal.commit)

/** The columns of the table. */
const ways = {
  settle: (env) => Effect.suspend(() => (Unsettled.settle(env, "aborted"), env.journal.commit)),
  settleLost: (env) => Effect.suspend(() => (Unsettled.settleLost(env), env.journal.commit)),
  settleFound: (env) => Unsettled.settleFound(env, "aborted"),
  settleAfter: after("aborted", true),
  "settleAfter, asking nobody": after("aborted", false),
  "settleAfter, by another agent": after("aborted", true),
  "settleAfter, for a new message": after("superseded", true)
} satisfies Record<string, Way>

type Row = Record<keyof typeof ways, string>

/** A row: of `settleAfter`, what differs from its outcome. */
const row = (
  settle: string,
  settleLost: string,
  settleFound: string,
  settleAfter: string,
  { another = settleAfter, superseded = settleAfter, unasked = settleAfter } = {}
): Row => ({
  settle,
  settleLost,
  settleFound,
  settleAfter,
  "settleAfter, asking nobody": unasked,
  "settleAfter, by another agent": another,
  "settleAfter, for a new message": superseded
})

const open = "open"
const [aborted, late] = ["NotExecuted aborted", "NotExecuted superseded"]
const unknown = "OutcomeUnknown"
const cut = "Interrupted"
const withheld = (began: string) =>
  `Failed ${began} is withheld: the run ended before the hook "guard" was done with it.`
const ranWithheld = withheld("The call ran, and its result")
const saidWithheld = withheld("The call did not run, and what answers it")
const superseded = "Denied superseded by a new message"
const left = `${superseded} while it waited for a person; nothing is at work for it any more`
const refused = "Denied the user did not allow this call"

const table: ReadonlyArray<readonly [what: string, call: Call, Row]> = [
  ["that has not begun", {}, row(aborted, open, open, aborted, { superseded: late })],
  ["that a person is asked about", { before: [asked] }, row(aborted, open, open, aborted, { superseded })],
  ["that a person has allowed", { before: [asked, allowed] }, row(aborted, open, open, aborted, { superseded: late })],
  [
    "that a person has refused",
    { before: [asked, Drafts.approvalResolved(id, false)] },
    row(refused, open, open, refused)
  ],
  [
    "whose result a person gave",
    { before: answered },
    row("Succeeded given", open, open, "Succeeded given", { another: aborted })
  ],
  [
    "whose result a person gave, which an observer is to see",
    { before: answered, hook: observer },
    row("Succeeded given", open, open, "Succeeded given", { another: aborted })
  ],
  [
    "whose result a person gave, which a guard is to see",
    { before: answered, hook: guard },
    row(aborted, open, open, "Succeeded seen", { unasked: aborted, another: aborted })
  ],
  [
    "whose result a person gave, which a guard looks at",
    { before: answered, hook: guard, held: "answered" },
    row(saidWithheld, open, open, "Succeeded seen", { unasked: saidWithheld, another: aborted })
  ],
  ["that is paused", { before: [started, paused] }, row(cut, open, open, cut, { superseded: left })],
  ["that paused here", { here: [started, paused] }, row(cut, open, open, cut, { superseded: left })],
  [
    "that this drive started",
    { before: [started], here: [started] },
    row(cut, cut, open, "Succeeded known", { unasked: unknown })
  ],
  ["that this drive started, and may be made again", { here: [started], tool: "again" }, row(cut, open, open, cut)],
  [
    "that this drive started, and left behind",
    { here: [started], left: { _tag: "Failed", result: "left" } },
    row("Failed left", "Failed left", open, "Succeeded known", { unasked: unknown })
  ],
  [
    "that this drive started, and left behind, and may be made again",
    { here: [started], left: { _tag: "Failed", result: "left" }, tool: "again" },
    row("Failed left", open, open, cut)
  ],
  [
    "that this drive started, and whose outcome a guard looks at",
    { here: [started], hook: guard, held: "ran" },
    row(ranWithheld, ranWithheld, open, "Succeeded seen", { unasked: unknown })
  ],
  [
    "that this drive started, and whose outcome a guard looks at, and may be made again",
    { here: [started], hook: guard, held: "ran", tool: "again" },
    row(ranWithheld, open, open, cut)
  ],
  [
    "that this drive started, and whose outcome an observer looks at",
    { here: [started], hook: observer, held: "ran", tool: "again" },
    row("Succeeded ran", "Succeeded ran", open, cut)
  ],
  [
    "that a dead drive started",
    { before: [started] },
    row(unknown, open, "Succeeded known", "Succeeded known", { unasked: unknown })
  ],
  [
    "that a dead drive started, whose result a guard is to see",
    { before: [started], hook: guard },
    row(unknown, open, "Succeeded seen", "Succeeded seen", { unasked: unknown })
  ],
  [
    "that a dead drive started, whose result a guard looks at",
    { before: [started], hook: guard, held: "ran" },
    row(ranWithheld, open, "Succeeded seen", "Succeeded seen", { unasked: unknown })
  ],
  [
    "that a dead drive started, without effect",
    { before: [started], answer: { _tag: "NotDone" } },
    row(unknown, open, aborted, aborted, { unasked: unknown, superseded: late })
  ],
  ["that a dead drive started, and may be made again", { before: [started], tool: "again" }, row(cut, open, open, cut)]
]

const cells = table.flatMap(([what, call, row]) =>
  Object.entries(row).map(([way, outcome]) => [way as keyof Row, what, outcome, call] as const)
)

describe("an open call", () => {
  it.effect.each(cells)("%s: one %s is %s", ([way, , outcome, call]) =>
    Effect.gen(function*() {
      const { env, log } = yield* envOf(call, way === "settleAfter, by another agent" ? "another" : "assistant")
      const [found] = env.journal.state.openCalls
      const ran: ToolOutcome.ToolOutcome = { _tag: "Succeeded", result: "ran" }
      if (call.held === "ran") ToolHooks.after(env, found!, ToolHooks.toldOf(ran), "ran")
      if (call.held === "answered") ToolHooks.answered(env, found!)
      if (call.left !== undefined) env.leftBehind.set(id, { name: "work", outcome: call.left })
      const asked: Reconciler.Answer = call.answer ?? { _tag: "Done", result: "known" }
      const reconcile = () => Effect.succeed(asked)
      yield* Effect.provideService(ways[way](env), Reconciler.Reconciler, { reconcile })
      const settled = RunLog.only(yield* log, "ToolSettled").map(({ outcome }) => wordsOf(outcome))
      assert.deepStrictEqual(settled, outcome === open ? [] : [outcome])
      assert.strictEqual(env.journal.state.openCalls.length, outcome === open ? 1 : 0)
    }))

  it.effect("whose result a person gave is shown with it where no hook is asked", () =>
    Effect.gen(function*() {
      const { env } = yield* envOf({ before: answered }, "assistant")
      const outcomes = env.journal.state.openCalls.map((call) => wordsOf(Unsettled.ofIdle(call, "superseded")))
      assert.deepStrictEqual(outcomes, ["Succeeded given"])
    }))
})

/** Its tag, and what it says in texts. */
const wordsOf = (outcome: ToolOutcome.ToolOutcome): string =>
  Object.values(outcome).filter((said) => typeof said === "string").join(" ")
