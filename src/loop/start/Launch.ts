/**
 * What a caller may ask of an agent's sessions, up to a drive under way: input is checked, and the run to resume is found.
 *
 * Does not own the ids of a run (`Identity`), the drive, what is done to a session that no drive has (`Deciding`, `Aborting`,
 * `CompactByHand`), nor the context that any of it runs in, which the front door sets.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Delivery from "../../run/Delivery.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as RunError from "../../run/RunError.ts"
import type * as RunInput from "../../run/RunInput.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import type * as RunResult from "../../run/RunResult.ts"
import * as AgentRuns from "../drive/AgentRuns.ts"
import type * as Definition from "../env/Definition.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import type * as Env from "../env/Env.ts"
import type * as Inbox from "../env/Inbox.ts"
import * as Settings from "../env/Settings.ts"
import * as Fold from "../log/Fold.ts"
import * as Questions from "../log/Questions.ts"
import * as Opening from "../open/Opening.ts"
import * as Aborting from "./Aborting.ts"
import * as Brief from "./Brief.ts"
import * as CompactByHand from "./CompactByHand.ts"
import * as Deciding from "./Deciding.ts"
import * as Identity from "./Identity.ts"
import * as Recovering from "./Recovering.ts"
import * as Sending from "./Sending.ts"
import * as SessionLocks from "./SessionLocks.ts"
import * as Start from "./Start.ts"
import type * as Started from "./Started.ts"
import type * as Visit from "./Visit.ts"

interface Launch {
  /** Starts a run, or attaches to the one that the same id and input started before. */
  readonly start: (input: RunInput.RunInput, isWatched: boolean) => Started.Starting
  /** Starts the next drive of a session's last run. */
  readonly resume: (input: RunInput.ResumeInput, isWatched: boolean) => Started.Starting
  /** Takes up the runs of this agent that nobody drives. */
  readonly recover: (input: RunInput.RecoverInput) => Effect.Effect<Recovering.Recovered, RunError.RunError>
  /** The questions of a session that wait for an answer. */
  readonly approvals: (sessionId: string) => Effect.Effect<ReadonlyArray<RunResult.Approval>, RunError.RunError>
  /** Answers one of them. */
  readonly decide: (decision: RunInput.DecideInput) => Effect.Effect<void, RunError.RunError>
  /** Sends an input to a session's run, wherever it is driven; returns what awaits its delivery. */
  readonly queue: (
    sessionId: string,
    kind: Inbox.Input["kind"],
    message: RunInput.RunInput["input"],
    id: string | undefined
  ) => Effect.Effect<Effect.Effect<Delivery.Delivery, RunError.RunError>, RunError.RunError>
  /** Ends the last run of a session, wherever it is. */
  readonly abort: (sessionId: string) => Effect.Effect<void, RunError.RunError>
  /** Makes the context of a session without a live run smaller. */
  readonly compact: (sessionId: string) => Effect.Effect<RunResult.Compacted, RunError.RunError>
  /** Aborts the runs that were started here and still live, and awaits their ends. From then on no run and no compaction begins. */
  readonly shutdown: Effect.Effect<void>
}

/** What everything launched for one agent shares. */
interface Launcher {
  readonly services: Env.Services
  readonly definition: Definition.Definition
  readonly settings: Effect.Effect<Settings.Settings, RunError.RunError>
  /** what holds where an input says nothing */
  readonly defaults: Omit<InputCheck.Defaults, "limits">
  readonly agentRuns: AgentRuns.AgentRuns
}

export const make = (services: Env.Services, definition: Definition.Definition): Launch => {
  Brief.warmUp(definition)
  const { handlers, toolPolicy } = definition
  const launcher: Launcher = {
    services,
    definition,
    settings: Settings.shared(definition),
    defaults: { toolPolicy: RunPolicy.narrow(toolPolicy, {}), tools: Object.keys(handlers.tools) },
    agentRuns: AgentRuns.make()
  }
  const { agentRuns } = launcher
  const whileOpen = <A>(work: Effect.Effect<A, RunError.RunError>) => AgentRuns.whileOpen(agentRuns, work)
  const locks = new SessionLocks.SessionLocks()
  const recovering = new Recovering.Recovering({
    store: services.store,
    agent: definition.name,
    // a run that was found goes on as it was found; its readers come later, if any do
    takeUp: (sessionId, foundAt) =>
      goOn(launcher, { sessionId, runId: undefined, foundAt, limits: undefined, data: undefined, isWatched: false })
  })
  return {
    start: (input, isWatched) => start(launcher, input, isWatched),
    resume: (input, isWatched) => resume(launcher, input, isWatched),
    recover: (input) =>
      Effect.flatMap(Effect.fromResult(InputCheck.recovery(input)), (checked) => recovering.look(checked)),
    approvals: (sessionId) =>
      Effect.flatMap(Identity.ofSession(sessionId), () => Questions.waiting(services.store, sessionId)),
    decide: (decision) => visit(launcher, decision?.sessionId, (visitor) => Deciding.decide(visitor, locks, decision)),
    queue: (sessionId, kind, message, id) =>
      Effect.flatMap(
        Effect.fromResult(Result.flatMap(InputCheck.said(kind, message), (said) => named(said, id))),
        (said) => visit(launcher, sessionId, (visitor) => Sending.send(visitor, sessionId, said))
      ),
    abort: (sessionId) => visit(launcher, sessionId, (visitor) => whileOpen(Aborting.abort(visitor, locks, sessionId))),
    compact: (sessionId) =>
      visit(launcher, sessionId, (visitor) => whileOpen(CompactByHand.compact(visitor, sessionId))),
    shutdown: AgentRuns.close(agentRuns)
  }
}

/** Does not yield where nothing has to be waited for. */
const start = (launcher: Launcher, input: RunInput.RunInput, isWatched: boolean): Started.Starting =>
  Effect.flatMap(
    launcher.settings,
    (settings) =>
      Effect.flatMapEager(Identity.of(input, settings.ids), (ids) => launch(launcher, input, isWatched, settings, ids))
  )

const launch = (
  { agentRuns, definition, defaults, services }: Launcher,
  input: RunInput.RunInput,
  isWatched: boolean,
  settings: Settings.Settings,
  { runId, sessionId }: Identity.Identity
): Started.Starting => {
  const { limits, timeouts } = settings
  const checked = Result.flatMap(limits, (limits) => InputCheck.asked(input, { ...defaults, limits }))
  if (Result.isFailure(checked)) return Effect.fail(checked.failure)
  if (Result.isFailure(timeouts)) return Effect.fail(timeouts.failure)
  const { effective, given } = checked.success
  const begin: DriveRequest.Start = { _tag: "Start", input: effective, given, create: input.createSession ?? true }
  return Effect.flatMapEager(Brief.make(definition, effective, timeouts.success), (brief) => {
    const request = { sessionId, runId, begin, brief, settings, folded: Fold.nothing, isWatched }
    return Start.start(services, request, agentRuns)
  })
}

const resume = (launcher: Launcher, input: RunInput.ResumeInput, isWatched: boolean): Started.Starting =>
  Effect.flatMap(
    Effect.suspend(() => Effect.fromResult(InputCheck.resumed(input))),
    (checked) => goOn(launcher, { ...checked, isWatched })
  )

/** Which run is to go on, and how. */
interface GoingOn extends Omit<DriveRequest.Resume, "_tag" | "input"> {
  readonly sessionId: string
  /** undefined: the session's last run */
  readonly runId: string | undefined
  readonly isWatched: boolean
}

const goOn = Effect.fnUntraced(function*(
  { agentRuns, definition, services, settings: shared }: Launcher,
  { isWatched, runId: asked, sessionId, ...resume }: GoingOn
): Effect.fn.Return<Started.Started, RunError.RunError> {
  const { store } = services
  const folded = yield* Effect.interruptible(Fold.fold(store, sessionId, Fold.nothing))
  const input = yield* Effect.interruptible(Fold.inputOf(store, sessionId, folded.state))
  const runId = asked ?? folded.state.runId
  if (runId === undefined || input === undefined) {
    return yield* Opening.nothingToResume(sessionId, runId, folded.state)
  }
  const settings = yield* shared
  const brief = yield* Brief.ofLog(definition, input, yield* Effect.fromResult(settings.timeouts))
  const begin: DriveRequest.Resume = { _tag: "Resume", input, ...resume }
  return yield* Start.start(services, { sessionId, runId, begin, brief, settings, folded, isWatched }, agentRuns)
})

/** A message under the id that its sender has given it, if any. */
const named = (said: Inbox.Input, id: string | undefined): Result.Result<Inbox.Input, RunError.NonRetryableError> =>
  id === undefined
    ? Result.succeed(said)
    : Result.map(InputCheck.id("id", id, "leave it out for a message without one"), (id) => ({ ...said, id }))

/** What is done to a session that no drive has. */
const visit = <A>(
  { definition, services, settings }: Launcher,
  sessionId: string,
  use: (visitor: Visit.Visitor) => Effect.Effect<A, RunError.RunError>
): Effect.Effect<A, RunError.RunError> =>
  Effect.andThen(
    Identity.ofSession(sessionId),
    Effect.flatMap(settings, (settings) => use({ services, definition, settings }))
  )
