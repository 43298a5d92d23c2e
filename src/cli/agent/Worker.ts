/**
 * Makes the command's agent and all it needs from the settings: its tools, model, store and instructions, and the approver of
 * its calls. Does not own what it is given to do (`Run.ts`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Agent from "../../Agent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as Approver from "../../services/Approver.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Sessions from "../../Sessions.ts"
import * as AnsweredBy from "../approval/AnsweredBy.ts"
import * as TerminalApprover from "../approval/TerminalApprover.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as ModelChoice from "../model/ModelChoice.ts"
import { badInput, codes, Refusal } from "../Refusal.ts"
import * as Paint from "../render/Paint.ts"
import type * as Screen from "../render/Screen.ts"
import * as AllowedCalls from "../session/AllowedCalls.ts"
import * as Database from "../session/Database.ts"
import * as SessionRoot from "../session/SessionRoot.ts"
import type { Settings } from "../Settings.ts"
import { Input } from "../terminal/Input.ts"
import { Output } from "../terminal/Output.ts"
import { type Signal, type Signals, until } from "../terminal/Signals.ts"
import * as Root from "../tools/files/Root.ts"
import * as ShownFiles from "../tools/write/ShownFiles.ts"
import * as CliAgent from "./CliAgent.ts"
import * as Instructions from "./Instructions.ts"

/** An agent that is ready, notices about it, and the approver of its calls. */
export interface Worker {
  readonly client: Agent.Client<string>
  /** where its sessions are kept */
  readonly store: SessionStore.Store
  /** what each run keeps, for those who go on with it */
  readonly data: Schema.Json
  /** lines to show once a run has begun */
  readonly notices: ReadonlyArray<string>
  /** Who answers in a drive that begins with these open calls. */
  readonly approver: (screen: Screen.Screen, open: OpenCalls) => Approver.Approver
  /** What is open in a session's last run; `unknown` where that cannot be read. */
  readonly openCalls: (sessionId: string) => Effect.Effect<OpenCalls>
}

export interface OpenCalls {
  /** the arguments of the calls, by their ids */
  readonly params: ReadonlyMap<string, Schema.Json>
  /** those that going on makes without a question */
  readonly allowed: ReadonlyArray<AllowedCalls.AllowedCall>
  /** the tools of those that were asked about and have not begun, by the ids of the questions; `undefined`: unknown */
  readonly asked: ReadonlyMap<string, string> | undefined
  /**
   * whether the run has asked people, about these or others, and not only where nobody was; so too where that is unknown. Not found
   * out, and `false`, where somebody answers anyway
   */
  readonly hasAsked: boolean
}

export const nothingOpen: OpenCalls = { params: new Map(), allowed: [], asked: new Map(), hasAsked: false }

export const unknown: OpenCalls = { ...nothingOpen, asked: undefined, hasAsked: true }

/** Makes the agent, unless a signal comes first. */
export const open = (
  settings: Settings
): Effect.Effect<Worker, Refusal, Input | Output | Signals | Scope.Scope> => until(agent(settings), beforeRun)

const beforeRun = (signal: Signal) =>
  Effect.fail(new Refusal({ line: "aborted before the run began", code: codes[signal] }))

/** The agent with all it needs. What can be checked without leaving a trace is checked first. */
const agent = Effect.fnUntraced(function*(settings: Settings) {
  const refusing = Effect.mapError((error: { readonly message: string }) => badInput(error.message))
  const root = yield* refusing(Root.make(settings.root))
  const shown = ShownFiles.make()
  const tools = yield* refusing(Layer.build(CliAgent.handlers(settings.root, shown)))
  const model = yield* ModelChoice.build(settings)
  yield* Database.prepare(settings)
  const kept = yield* Layer.build(Database.layer(settings))
  const store = Context.get(kept, SessionStore.SessionStore)
  const isOffline = ModelChoice.isOffline(settings.model)
  const added = isOffline ? {} : yield* Instructions.read(root)
  const layer = isOffline
    ? CliAgent.reading(Instructions.reading)
    : CliAgent.writing(Instructions.extend(Instructions.writing, added))
  const who = yield* whoAnswers(settings)
  const below = Layer.succeedContext(Context.merge(Context.merge(tools, model), kept))
  const running = Layer.provide(isOffline ? CliAgent.forgetting : CliAgent.summing, below)
  const built = yield* Layer.build(layer.pipe(Layer.provide([below, running])))
  return {
    client: Context.get(built, CliAgent.CliAgent),
    store,
    data: SessionRoot.dataOf(root),
    notices: [
      ...SessionRoot.notices(settings),
      ...ModelChoice.notices(settings),
      ...(added.notice === undefined ? [] : [ErrorWords.line(added.notice)]),
      ...(isOffline || !settings.allowsAll ? [] : [ErrorWords.line(allowed)])
    ],
    approver: yield* approverOf(settings, root, shown, who),
    openCalls: openCalls(store, { canChange: !isOffline, isAlone: !who.allowsAll && !who.isAttended })
  }
})

type Who = Omit<TerminalApprover.Occasion, "hasAsked">

const whoAnswers = ({ allowsAll }: Settings) =>
  Effect.gen(function*() {
    const { isTerminal } = yield* Input
    const { stderr } = yield* Output
    return { allowsAll, isAttended: isTerminal && stderr.isTerminal } satisfies Who
  })

/** `canChange`: the agent has the tools whose calls people allow; `isAlone`: nobody answers here. */
const openCalls = (
  store: SessionStore.Store,
  { canChange, isAlone }: { readonly canChange: boolean; readonly isAlone: boolean }
): Worker["openCalls"] =>
(sessionId) =>
  Effect.gen(function*() {
    const { state } = yield* Effect.provideService(Sessions.current(sessionId), SessionStore.SessionStore, store)
    return {
      params: new Map(state.openCalls.map((call) => [call.callId, OpenCall.final(call)])),
      allowed: canChange ? yield* AllowedCalls.of(store, sessionId, state) : [],
      asked: new Map(state.openCalls.flatMap(askedIn)),
      hasAsked: isAlone && (state.end?._tag === "RunSuspended" || (yield* hasAsked(store, sessionId, state)))
    }
  }).pipe(Effect.orElseSucceed(() => unknown))

const hasAsked = (store: SessionStore.Store, sessionId: string, { startSeq }: RunState.RunState) =>
  store.read(sessionId, { from: startSeq }).pipe(
    Stream.runFold(() => new Set<string>(), (asked, event) => {
      if (event._tag === "ApprovalRequested") asked.add(event.approvalId)
      if (event._tag === "ApprovalResolved" && AnsweredBy.isNoPerson(event.by)) asked.delete(event.approvalId)
      return asked
    }),
    Effect.map((asked) => asked.size > 0)
  )

const askedIn = (call: OpenCall.OpenCall): ReadonlyArray<readonly [approvalId: string, tool: string]> =>
  call.approvalId === undefined || OpenCall.hasStarted(call) ? [] : [[call.approvalId, call.tool]]

const allowed = "--yes allows every change of a file and every command without asking"

const approverOf = Effect.fnUntraced(function*(
  settings: Settings,
  root: Root.Root,
  shown: ShownFiles.ShownFiles,
  who: Who
) {
  const { answer, isGone } = yield* Input
  const { stderr } = yield* Output
  const rules = new Set<string>()
  const paint = Paint.of(stderr, settings.isPlain)
  const { columns } = stderr
  return (screen: Screen.Screen, { hasAsked }: OpenCalls) =>
    TerminalApprover.of(
      { root, screen, paint, columns, write: stderr.write, answer, isGone, shown, rules },
      { ...who, hasAsked }
    )
})
