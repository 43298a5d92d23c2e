/** `fiberloop remove`: deletes sessions for good, those of agents below their calls too, once a person has said yes. */
import type * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { count } from "../../run/Quantity.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Sessions from "../../Sessions.ts"
import * as ErrorWords from "../ErrorWords.ts"
import { badInput, codes, Ended, type Refusal } from "../Refusal.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Paint from "../render/Paint.ts"
import * as Print from "../render/Print.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as KeptSession from "../session/KeptSession.ts"
import type { Settings } from "../Settings.ts"
import { Input } from "../terminal/Input.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** ids, or the beginnings of some */
  readonly sessions: Arr.NonEmptyReadonlyArray<string>
  /** delete without asking */
  readonly yes: boolean
}

/** All are found before any is deleted. What is in use stays, and is named; the others go. */
const remove = Effect.fnUntraced(function*(
  { place, sessions, yes }: Options
): Effect.fn.Return<void, Ended | Refusal, Input | Output | Scope.Scope> {
  const found = yield* KeptSession.findEach(place, sessions)
  if (!yes) yield* ask(place, found)
  const { stderr } = yield* Output
  const gone = new Set<string>()
  let staysAny = false
  for (const { info, store } of found) {
    // it was below one before it
    if (gone.has(info.sessionId)) {
      if (place.json) yield* Print.print(RenderSessions.json(info))
      continue
    }
    const removing = yield* Effect.result(
      Effect.provideService(Sessions.remove(info.sessionId), SessionStore.SessionStore, store)
    )
    if (Result.isFailure(removing)) {
      const { reason } = removing.failure
      // one that was found is gone: with one before it, or by another process
      const isGone = reason._tag === "SessionNotFound"
      if (!isGone && reason._tag !== "SessionBusy") return yield* ErrorWords.refusal(removing.failure)
      if (!isGone) {
        staysAny = true
        yield* stderr.write(`${ErrorWords.line(stays(place, info.sessionId, reason))}\n`)
        // nothing below a session that is in use was tried
        if (reason.sessionId === info.sessionId) continue
      }
    }
    const deleted = Result.isSuccess(removing) ? removing.success : [info.sessionId]
    for (const id of deleted) gone.add(id)
    yield* Print.print(
      place.json ? RenderSessions.json(info) : said(info, deleted.filter((id) => id !== info.sessionId).length)
    )
  }
  if (staysAny) return yield* new Ended({ code: codes.failed })
})

/** That a session is in use, which is `named` or below it, and what to do. */
const stays = (
  { flags }: Settings,
  named: string,
  { runId, sessionId }: { readonly sessionId: string; readonly runId?: string }
): string => {
  const of = (command: string, id: string) => Invocation.of(command, [id], Invocation.placeOf(flags))
  return `session ${JSON.stringify(sessionId)}${
    sessionId === named ? "" : `, below ${JSON.stringify(named)},`
  } is in use by ${
    runId === undefined ? "another process" : `the run ${TerminalText.line(runId)}`
  } and was not deleted: wait for its end, or end it with ${of("abort", sessionId)}, then call ${
    of("remove", named)
  } again`
}

const said = ({ sessionId }: SessionStore.SessionInfo, below: number): string => {
  const more = below === 0 ? "" : ` and ${count(below, "session")} below it`
  return `✓ deleted session ${TerminalText.line(sessionId)}${more}\n`
}

/** Shows what would be deleted. Only a clear yes is one. */
const ask = Effect.fnUntraced(function*(
  place: Settings,
  found: ReadonlyArray<KeptSession.Kept>
): Effect.fn.Return<void, Ended | Refusal, Input | Output> {
  const { answer, isTerminal } = yield* Input
  const { stderr } = yield* Output
  if (!isTerminal || !stderr.isTerminal) {
    return yield* badInput("nothing was deleted: there is no terminal to ask at, and --yes deletes without asking")
  }
  const paint = Paint.of(stderr, place.isPlain)
  const look = { paint, columns: stderr.columns(), now: yield* Clock.currentTimeMillis }
  yield* stderr.write(RenderSessions.lines(found.map(({ info }) => info), look))
  const question = "Delete for good, with the sessions of agents below? y = yes, n = no"
  for (;;) {
    const line = yield* answer(stderr.write(`${paint.yellow(question)} › `))
    if (/^\s*(?:y|yes)\s*$/i.test(line ?? "")) return
    if (line === undefined) yield* stderr.write("\n")
    else if (!/^\s*(?:n|no)\s*$/i.test(line)) continue
    yield* stderr.write("Nothing was deleted.\n")
    return yield* new Ended({ code: codes.failed })
  }
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Input | Output | Signals> =>
  untilSignal(Effect.scoped(remove(options)))
