/** What holds while a session store closes; a part of `SessionStoreSuite`. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as SessionStore from "../../services/SessionStore.ts"
import { idle, started } from "./Fixtures.ts"
import { assert, describe, it } from "./TestRunner.ts"

export const closing = <E>(name: string, layer: Layer.Layer<SessionStore.SessionStore, E>): void => {
  describe(`${name}: closing`, () => {
    it.effect("sessions still open when their store closes can still store their ends", () =>
      Effect.gen(function*() {
        const [storeScope, sessionScope, otherScope] = [yield* Scope.make(), yield* Scope.make(), yield* Scope.make()]
        const store = Context.get(yield* Layer.buildWithScope(layer, storeScope), SessionStore.SessionStore)
        const options = { runId: "run-1", create: true }
        const session = yield* Scope.provide(store.open("s", options), sessionScope)
        const other = yield* Scope.provide(store.open("other", options), otherScope)
        const closing = yield* Effect.forkChild(Scope.close(storeScope, Exit.void))
        yield* idle
        yield* session.append([started({ seq: 1 })])
        yield* Scope.close(sessionScope, Exit.void)
        yield* idle
        yield* other.append([started({ seq: 1 })])
        yield* Scope.close(otherScope, Exit.void)
        yield* Fiber.join(closing)
        assert.deepStrictEqual([session.head(), other.head()], [1, 1])
      }))
  })
}
