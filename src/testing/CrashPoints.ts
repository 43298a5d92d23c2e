/**
 * The moments at which a process's death matters, counted from 1: before and after each tool call, and each time that a session is
 * opened, written to, forked, removed, or told something as the run of another process. Wraps the services that do it.
 *
 * Does not own who kills whom (`CrashSweep`). Giving a session back has no points of its own: a death there leaves the log of the last
 * write, and an owner who is dead.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Delegating from "../services/Delegating.ts"
import * as SessionStore from "../services/SessionStore.ts"
import * as ToolExecutor from "../services/ToolExecutor.ts"
import * as Writes from "./faults/Writes.ts"

/**
 * Called at every point, with what happens there; in a process that is to die, it does not return. `confirmed` gives the `seq` of the
 * last event of a session that the store has confirmed here, 0 before the first.
 */
export type OnPoint = (n: number, what: string, confirmed: (sessionId: string) => number) => void

type Services = SessionStore.SessionStore | ToolExecutor.ToolExecutor

/** The services of `below`, with a point before and after everything that has a lasting effect. */
export const layer = <E, R>(below: Layer.Layer<Services, E, R>, onPoint: OnPoint): Layer.Layer<Services, E, R> =>
  Layer.effectContext(Effect.map(Layer.build(below), (context) => {
    const heads = new Map<string, number>()
    const confirmed = (sessionId: string) => heads.get(sessionId) ?? 0
    let n = 0
    const around = <A, E, R>(what: string, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        onPoint(++n, `before ${what}`, confirmed)
        return Effect.tap(self, () => Effect.sync(() => onPoint(++n, `after ${what}`, confirmed)))
      })
    const store = keepingHeads(Context.get(context, SessionStore.SessionStore), heads)
    const executor = Context.get(context, ToolExecutor.ToolExecutor)
    const open: typeof store.open = (sessionId, options) =>
      Effect.map(
        around(Writes.opening, store.open(sessionId, options)),
        (session) =>
          Delegating.to(session, { append: (events) => around(Writes.storing(events), session.append(events)) })
      )
    const execute: typeof executor.execute = (handlers, call, observer) =>
      around(`running ${call.name}`, executor.execute(handlers, call, observer))
    const written = Delegating.to(store, { ...Writes.outside(store, around), open })
    return Context.make(SessionStore.SessionStore, written).pipe(
      Context.add(ToolExecutor.ToolExecutor, Delegating.to(executor, { execute }))
    )
  }))

/** Keeps the `seq` of the last event that the store has confirmed in `heads`, by session. */
const keepingHeads = (store: SessionStore.Store, heads: Map<string, number>): SessionStore.Store =>
  Delegating.to(store, {
    open: (sessionId, options) =>
      Effect.map(store.open(sessionId, options), (session) =>
        Delegating.to(session, {
          append: (events) =>
            Effect.tap(session.append(events), () => Effect.sync(() => heads.set(sessionId, events.at(-1)!.seq)))
        })),
    remove: (sessionId) => Effect.tap(store.remove(sessionId), () => Effect.sync(() => heads.delete(sessionId)))
  })

/** Where a process died, and `seq` of the last event of its session that the store had confirmed there. */
export interface Died {
  readonly point: string
  readonly confirmed: number
}

/** What a process says when it dies: a line of its own, whatever was said before and after it. */
export const lastWords = ({ confirmed, point }: Died): string => `\nconfirmed ${confirmed}, died at ${point}\n`

/** The last words in what a process has said; `undefined` where it was killed before it said any. */
export const lastWordsIn = (output: string): Died | undefined => {
  const [, confirmed, point] = /^confirmed (\d+), died at (.*)$/m.exec(output) ?? []
  return point === undefined ? undefined : { point, confirmed: Number(confirmed) }
}
