/** Sessions that agents began for calls, as tests of migrations need them: more than one page of them, one damaged. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { begunFor, type Durable, started } from "../../src/testing/sessions/Fixtures.ts"

type Store = SessionStore.SessionStore["Service"]

const calls = Array.from({ length: 120 }, (_, n) => String(n))
/** Its first event is to be made unreadable. */
export const damaged = "of 7"

export const write = Effect.fnUntraced(function*(store: Store) {
  const append = Effect.fnUntraced(function*(id: string, event: Durable) {
    const session = yield* store.open(id, { runId: "run-1", create: true })
    yield* session.append([event])
  }, Effect.scoped)
  // what people say may look like a parent
  yield* append("words", started({ seq: 1 }, `{"parent":{"sessionId":"no"}}`))
  for (const id of calls) yield* append(`of ${id}`, begunFor(id, { seq: 1 }))
})

export const check = Effect.fnUntraced(function*(store: Store) {
  const infos = yield* store.list()
  const parents = new Map(infos.map(({ parent, sessionId }) => [sessionId, parent]))
  assert.isUndefined(parents.get("words"))
  for (const id of calls) assert.strictEqual(parents.get(`of ${id}`), `of ${id}` === damaged ? undefined : id)
})
