/** Sessions that agents began for calls, as tests of migrations need them: more than one page of them, one damaged. */
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { begunFor, type Durable, started } from "../../src/testing/sessions/Fixtures.ts"

const calls = Array.from({ length: 120 }, (_, n) => String(n))
/** Its first event is to be made unreadable. */
export const damaged = "of 7"
/** More than an index of Postgres holds, also once it is compressed. */
export const long = Array.from({ length: 100 }, (_, n) => createHash("sha256").update(String(n)).digest("hex")).join("")

export const write = Effect.fnUntraced(function*(store: SessionStore.Store) {
  const at = yield* Clock.currentTimeMillis
  const append = Effect.fnUntraced(function*(id: string, event: Durable) {
    const session = yield* store.open(id, { runId: "run-1", create: true })
    yield* session.append([event])
  }, Effect.scoped)
  // what people say may look like a parent
  yield* append("words", started({ seq: 1, at }, `{"parent":{"sessionId":"no"}}`))
  yield* append("of no session", begunFor(long, { seq: 1, at }))
  // as a fork of one was, and an import
  yield* append("copied", begunFor("0", { seq: 1, at: at - 1 }))
  for (const id of calls) yield* append(`of ${id}`, begunFor(id, { seq: 1, at: at + 60_000 }))
})

export const check = Effect.fnUntraced(function*(store: SessionStore.Store) {
  const infos = yield* store.list()
  const parents = new Map(infos.map(({ parent, sessionId }) => [sessionId, parent]))
  for (const id of ["words", "of no session", "copied"]) assert.isUndefined(parents.get(id))
  for (const id of calls) assert.strictEqual(parents.get(`of ${id}`), `of ${id}` === damaged ? undefined : id)
})
