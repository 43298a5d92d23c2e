/** The sessions of a store, page by page: each step may cost as much as there are sessions in use. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Listing from "../../../src/loop/log/Listing.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"

/** A store with so many sessions, and how many each step asked it for. */
const storeOf = (sessions: number) => {
  const limits: Array<number | undefined> = []
  const infos = Array.from({ length: sessions }, (_, i) => SessionStore.newInfo(`s${i}`, sessions - i))
  const list: SessionStore.Store["list"] = ({ after, limit } = {}) =>
    Effect.sync(() => {
      limits.push(limit)
      const from = after === undefined ? 0 : infos.findIndex(({ sessionId }) => sessionId === after.sessionId) + 1
      return infos.slice(from, from + (limit ?? sessions))
    })
  return { infos, limits, store: { list } }
}

it.effect("all sessions are listed once, in few steps however many there are", () =>
  Effect.gen(function*() {
    const { infos, limits, store } = storeOf(10_000)
    assert.deepStrictEqual(yield* Stream.runCollect(Listing.all(store)), infos)
    assert.deepStrictEqual(limits, [100, 200, 400, 800, 1600, 3200, 3200, 3200])
  }))

it.effect("no more is asked for than is taken", () =>
  Effect.gen(function*() {
    const { infos, limits, store } = storeOf(10_000)
    assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(Listing.all(store), 150)), infos.slice(0, 150))
    assert.deepStrictEqual(limits, [100, 200])
  }))
