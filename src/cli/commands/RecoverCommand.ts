/** `fiberloop recover`: finds runs whose process died, or lost its store, and goes on with them, one after the other. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { count } from "../../run/Quantity.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Sessions from "../../Sessions.ts"
import type * as Worker from "../agent/Worker.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as GoingOn from "../GoingOn.ts"
import { codes, Ended, type Refusal } from "../Refusal.ts"
import * as InProgram from "../render/InProgram.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderApprovals from "../render/RenderApprovals.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as AllowedCalls from "../session/AllowedCalls.ts"
import * as Database from "../session/Database.ts"
import * as SessionAgent from "../session/SessionAgent.ts"
import * as SessionRoot from "../session/SessionRoot.ts"
import type { Settings } from "../Settings.ts"
import type { Input } from "../terminal/Input.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly settings: Settings
  /** whether to list them only, and leave them alone */
  readonly isList: boolean
}

export const run = Effect.fnUntraced(function*(
  { isList, settings }: Options
): Effect.fn.Return<void, Ended | Refusal, Input | Output | Signals | Scope.Scope> {
  const { stderr } = yield* Output
  const { left, others, unread } = yield* untilSignal(Effect.scoped(leftByProcesses(settings, isList)))
  const found: number = unread === 0 ? codes.completed : codes.failed
  if (left.length === 0) {
    yield* stderr.write(
      `Nothing ${others + unread === 0 ? "" : "else "}was left behind${Database.becauseAbsent(settings)}.\n`
    )
    return yield* endWith(found)
  }
  if (isList) {
    yield* Print.print(settings.json ? left.map(json).join("") : yield* lines(left, settings))
    return yield* endWith(found)
  }
  const [Run, { open }] = yield* Effect.promise(() => Promise.all([import("../Run.ts"), import("../agent/Worker.ts")]))
  const workers = new Map<string, Worker.Worker>()
  let code = found
  for (const [at, { info: { sessionId, title }, settings }] of left.entries()) {
    const worker = yield* Effect.result(opened(open, workers, settings))
    if (Result.isFailure(worker) && !(settings.isModelOfSession && worker.failure.code === codes.failed)) {
      return yield* worker.failure
    }
    yield* stderr.write(`── ${TerminalText.line(sessionId)}  ${TerminalText.line(title)}\n`)
    if (Result.isFailure(worker)) {
      yield* stderr.write(`${ErrorWords.line(worker.failure.line)}\n`)
      code = codes.failed
      continue
    }
    const driven = yield* Run.show(worker.success, settings, { sessionId })
    if (driven.code !== codes.completed) code = driven.code
    if (driven.code === codes.readerLeft) break
    if (driven.signal !== undefined) {
      // the remaining runs were not continued, even if this one was complete by then
      if (at < left.length - 1) code = codes[driven.signal]
      break
    }
  }
  yield* endWith(code)
}, Effect.scoped)

const json = ({ info, willRun }: Left): string =>
  RenderSessions.json(willRun.length === 0 ? info : { ...info, willRun })

const lines = Effect.fnUntraced(function*(left: ReadonlyArray<Left>, { isPlain }: Settings) {
  const below = new Map(left.map(({ info, willRun }) => [info.sessionId, willRun.flatMap(RenderApprovals.allowed)]))
  const look = { ...(yield* Print.tableOf(isPlain)), now: yield* Clock.currentTimeMillis, below }
  return RenderSessions.lines(left.map(({ info }) => info), look)
})

const endWith = (code: number): Effect.Effect<void, Ended> =>
  code === codes.completed ? Effect.void : Effect.fail(new Ended({ code }))

/** One worker for each folder and model that sessions used. */
const opened = Effect.fnUntraced(function*(
  open: typeof Worker.open,
  workers: Map<string, Worker.Worker>,
  settings: Settings
) {
  const used = JSON.stringify([settings.root, settings.model])
  const worker = workers.get(used) ?? (yield* open(settings))
  workers.set(used, worker)
  return worker
})

interface Found {
  readonly left: ReadonlyArray<Left>
  /** how many are left alone, of another agent or being aborted; each was reported */
  readonly others: number
  /** how many could not be read, or cannot go on as they did; each was reported */
  readonly unread: number
}

interface Left {
  readonly info: SessionStore.SessionInfo
  /** the settings to go on with its run */
  readonly settings: Settings
  /** read for a list only */
  readonly willRun: ReadonlyArray<AllowedCalls.AllowedCall>
}

/**
 * The command's sessions whose last run ended with its process or its store, or has no end and no process that drives it, and was not being
 * aborted; oldest first.
 */
const leftByProcesses = Effect.fnUntraced(function*(
  settings: Settings,
  isList: boolean
): Effect.fn.Return<Found, Refusal, Output | Scope.Scope> {
  const { stderr } = yield* Output
  const store = yield* (isList ? Database.readable : Database.existing)(settings)
  if (store === undefined) return { left: [], others: 0, unread: 0 }
  const list = (unowned: boolean) => Effect.mapError(store.list({ ends: [undefined], unowned }), ErrorWords.refusal)
  const [unfinished, unowned] = yield* Effect.all([list(false), list(true)])
  const isLeft = new Set(unowned.map(({ sessionId }) => sessionId))
  const left: Array<Left> = []
  let alive = 0
  let others = 0
  let unread = 0
  for (const info of unfinished) {
    const { sessionId } = info
    if (!isLeft.has(sessionId)) {
      alive++
      continue
    }
    const foreign = yield* Effect.result(SessionAgent.foreign({ store, info }))
    if (Result.isFailure(foreign)) {
      unread++
      yield* stderr.write(`${ErrorWords.line(foreign.failure.line)}\n`)
      continue
    }
    const admitted = SessionAgent.allowed(settings, info, foreign.success, InProgram.goOn)
    if (Result.isFailure(admitted)) {
      others++
      yield* stderr.write(`${ErrorWords.line(`left alone: ${admitted.failure.line}`)}\n`)
      continue
    }
    const folded = yield* Effect.result(stateOf(store, sessionId, isList))
    if (Result.isFailure(folded)) {
      unread++
      yield* stderr.write(`${ErrorWords.line(ErrorWords.ofRun(folded.failure))}\n`)
    } else if (folded.success.state.abortRequested !== undefined) {
      others++
      const end = Invocation.of("abort", [sessionId], Invocation.placeOf(settings.flags))
      yield* stderr.write(
        `${TerminalText.line(sessionId)} was being aborted when its process died; left alone. End it with: ${end}\n`
      )
    } else {
      const adopting = Effect.flatMap(
        GoingOn.adopt({ ...admitted.success, session: sessionId }, { store, info }),
        SessionRoot.toResume
      )
      // a list asks no model
      const adopted = isList ? admitted : yield* Effect.result(adopting)
      if (Result.isSuccess(adopted)) left.unshift({ info, settings: adopted.success, willRun: folded.success.willRun })
      else {
        unread++
        yield* stderr.write(`${ErrorWords.line(adopted.failure.line)}\n`)
      }
    }
  }
  if (alive > 0) yield* stderr.write(`${count(alive, "run")} still going on; left alone.\n`)
  return { left, others, unread }
})

/** The state of the session's last run, and for a list the calls that going on makes. */
const stateOf = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  isList: boolean
) {
  const { state } = yield* Effect.provideService(Sessions.current(sessionId), SessionStore.SessionStore, store)
  return { state, willRun: isList ? yield* AllowedCalls.of(store, sessionId, state) : [] }
})
