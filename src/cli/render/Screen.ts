/**
 * Shows a run as it goes: events through a renderer, and a spinner while nothing is said. Owns the order of what is
 * written: one write at a time, always after the spinner was removed.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as RunEvent from "../../run/RunEvent.ts"
import { Output, type OutputClosed } from "../terminal/Output.ts"
import * as Render from "./Render.ts"
import * as RenderJson from "./RenderJson.ts"
import * as Spinner from "./Spinner.ts"

export interface Screen {
  /** Shows events, in order; fails when standard output is closed. */
  readonly show: (events: ReadonlyArray<RunEvent.RunEvent>) => Effect.Effect<void, OutputClosed>
  /** A line on standard error. */
  readonly say: (line: string) => Effect.Effect<void>
  /** Runs something while nothing else is written: no spinner, no unfinished line. */
  readonly hold: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Ends on standard error what it would write a line after; for a line that cannot wait. */
  readonly lineEnd: () => string
  /** Waits until everything before the question with this id was shown; for one from before a resume, until that was. */
  readonly asked: (approvalId: string) => Effect.Effect<void>
}

/** Which questions have been reached while showing events; those from `before` have no event of their own any more. */
const makeAsked = (before: Render.Look["asked"] = new Map()) => {
  const reached = new Map<string, Deferred.Deferred<void>>()
  const of = (approvalId: string) => {
    const known = reached.get(approvalId) ?? Deferred.makeUnsafe<void>()
    reached.set(approvalId, known)
    return known
  }
  return {
    asked: (approvalId: string) => Deferred.await(of(approvalId)),
    reach: (events: ReadonlyArray<RunEvent.RunEvent>) => {
      for (const event of events) {
        const ids = event._tag === "ApprovalRequested"
          ? [event.approvalId]
          : event._tag === "RunResumed"
          ? before.keys()
          : []
        for (const id of ids) Deferred.doneUnsafe(of(id), Effect.void)
      }
    }
  }
}

/** Every event as a line of JSON on standard output; how the run ended, with its session, on standard error. */
export const json = (look: Render.Look): Effect.Effect<Screen, never, Output> =>
  Effect.map(Output, ({ stderr, stdout }) => {
    const { asked, reach } = makeAsked(look.asked)
    return {
      show: (events) =>
        Effect.gen(function*() {
          yield* stdout.write(events.map(RenderJson.line(look.sessionId)).join(""))
          const end = events.find(RunEvent.isEnd)
          if (end !== undefined) yield* stderr.write(Render.ending(look, end))
          reach(events)
        }),
      say: (line) => stderr.write(`${line}\n`),
      hold: (self) => self,
      lineEnd: () => "",
      asked
    }
  })

/** Plain text; with `isAnimated`, standard error is a terminal that shows a spinner until the scope closes. */
export const text = Effect.fnUntraced(function*(
  look: Render.Look & { readonly isAnimated: boolean }
): Effect.fn.Return<Screen, never, Output | Scope.Scope> {
  const { stderr, stdout } = yield* Output
  const permit = yield* Semaphore.make(1)
  const { asked, reach } = makeAsked(look.asked)
  const startedAt = yield* Clock.currentTimeMillis
  let state = {
    ...Render.initial,
    calls: look.calls ?? Render.initial.calls,
    asked: look.asked ?? Render.initial.asked
  }
  let since = startedAt
  let isSpinning = false

  const stop = Effect.suspend(() => {
    if (!isSpinning) return Effect.void
    isSpinning = false
    return stderr.write(Spinner.clear)
  })

  const write = (writes: ReadonlyArray<Render.Write>) =>
    Effect.forEach(joined(writes), ({ text, to }) => (to === "stdout" ? stdout : stderr).write(text), { discard: true })

  const show = (events: ReadonlyArray<RunEvent.RunEvent>) =>
    Effect.gen(function*() {
      const writes: Array<Render.Write> = []
      const before = state.waitsFor
      for (const event of events) {
        const [next, more] = Render.step(look, state, event)
        state = next
        writes.push(...more)
      }
      if (state.waitsFor !== before) since = yield* Clock.currentTimeMillis
      if (writes.length > 0) {
        yield* stop
        yield* write(writes)
      }
      reach(events)
    }).pipe(permit.withPermit)

  const endLine = Effect.gen(function*() {
    yield* stop
    const isMidLine = state.isMidLine
    state = { ...state, isMidLine: false }
    yield* Effect.ignore(stdout.write(isMidLine ? "\n" : ""))
    return isMidLine
  })

  const say = (line: string) =>
    Effect.gen(function*() {
      const isMidLine = yield* endLine
      // The terminal has written "^C" at the start of the line.
      yield* stderr.write(`${look.isAnimated && !isMidLine ? Spinner.clear : ""}${line}\n`)
    }).pipe(permit.withPermit)

  const turn = (frame: number) =>
    Effect.gen(function*() {
      if (state.waitsFor === undefined || state.isMidLine) return yield* stop
      const waited = (yield* Clock.currentTimeMillis) - since
      isSpinning = true
      yield* stderr.write(Spinner.draw(frame, state.waitsFor, waited, stderr.columns()))
    }).pipe(permit.withPermit)

  if (look.isAnimated) {
    yield* Effect.acquireRelease(Effect.forkScoped(Spinner.turning(turn)), () => stop)
  }
  const restart = Effect.map(Clock.currentTimeMillis, (now) => {
    since = now
  })
  const hold: Screen["hold"] = (self) => permit.withPermit(Effect.ensuring(Effect.andThen(endLine, self), restart))
  const lineEnd = () => state.isMidLine ? (stdout.isTerminal ? "\n" : "") : look.isAnimated ? Spinner.clear : ""
  return { show, say, hold, lineEnd, asked }
})

/** Neighbouring writes to one place are one write. */
const joined = (writes: ReadonlyArray<Render.Write>): ReadonlyArray<Render.Write> => {
  const out: Array<Render.Write> = []
  for (const write of writes) {
    const last = out[out.length - 1]
    if (last?.to === write.to) out[out.length - 1] = { to: write.to, text: last.text + write.text }
    else out.push(write)
  }
  return out
}
