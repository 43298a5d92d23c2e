/**
 * The moments at which a process's death matters: before and after each write to the store and each tool call, counted
 * from 1. Wraps the services that make them. Does not own who kills whom (`CrashSweep`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Delegating from "../services/Delegating.ts"
import * as SessionStore from "../services/SessionStore.ts"
import * as ToolExecutor from "../services/ToolExecutor.ts"

/** Called at every point, with what happens there; in a process that is to die, it does not return. */
export type OnPoint = (n: number, what: string) => void

type Services = SessionStore.SessionStore | ToolExecutor.ToolExecutor

/** The services of `below`, with a point before and after everything that has a lasting effect. */
export const layer = <E, R>(below: Layer.Layer<Services, E, R>, onPoint: OnPoint): Layer.Layer<Services, E, R> =>
  Layer.effectContext(Effect.map(Layer.build(below), (context) => {
    let n = 0
    const around = <A, E, R>(what: string, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        onPoint(++n, `before ${what}`)
        return Effect.tap(self, () => Effect.sync(() => onPoint(++n, `after ${what}`)))
      })
    const store = Context.get(context, SessionStore.SessionStore)
    const executor = Context.get(context, ToolExecutor.ToolExecutor)
    const open: typeof store.open = (sessionId, options) =>
      Effect.map(around("opening the session", store.open(sessionId, options)), (session) =>
        Delegating.to(session, {
          append: (events) => around(`storing ${events.map(({ _tag }) => _tag).join(", ")}`, session.append(events))
        }))
    const execute: typeof executor.execute = (handlers, call, observer) =>
      around(`running ${call.name}`, executor.execute(handlers, call, observer))
    return Context.make(SessionStore.SessionStore, Delegating.to(store, { open })).pipe(
      Context.add(ToolExecutor.ToolExecutor, Delegating.to(executor, { execute }))
    )
  }))
