/**
 * A session store, with its sessions, as an application may write it: instances of classes. What is asked of a copy of one, or of a
 * method without its object, throws.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"

type Service = SessionStore.Store

class Session implements SessionStore.Session {
  readonly #session: SessionStore.Session

  constructor(session: SessionStore.Session) {
    this.#session = session
  }

  get sessionId() {
    return this.#session.sessionId
  }

  head() {
    return this.#session.head()
  }

  append(events: Parameters<SessionStore.Session["append"]>[0]) {
    return this.#session.append(events)
  }
}

class Store implements Service {
  readonly #store: Service

  constructor(store: Service) {
    this.#store = store
  }

  open(...args: Parameters<Service["open"]>) {
    return Effect.map(this.#store.open(...args), (session) => new Session(session))
  }

  read(...args: Parameters<Service["read"]>) {
    return this.#store.read(...args)
  }

  lastOf(...args: Parameters<Service["lastOf"]>) {
    return this.#store.lastOf(...args)
  }

  watch(...args: Parameters<Service["watch"]>) {
    return this.#store.watch(...args)
  }

  list(...args: Parameters<Service["list"]>) {
    return this.#store.list(...args)
  }

  info(...args: Parameters<Service["info"]>) {
    return this.#store.info(...args)
  }

  fork(...args: Parameters<Service["fork"]>) {
    return this.#store.fork(...args)
  }

  remove(...args: Parameters<Service["remove"]>) {
    return this.#store.remove(...args)
  }

  send(...args: Parameters<NonNullable<Service["send"]>>) {
    return this.#store.send!(...args)
  }

  askToAbort(...args: Parameters<NonNullable<Service["askToAbort"]>>) {
    return this.#store.askToAbort!(...args)
  }
}

/** Over a store that supports all that a store may. */
export const of = (store: Service): Service => new Store(store)

/** In memory. */
export const make: Effect.Effect<Service> = Effect.map(SessionStoreMemory.make, of)

export const layer: Layer.Layer<SessionStore.SessionStore> = Layer.effect(SessionStore.SessionStore, make)
