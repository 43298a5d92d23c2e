/** The stores that fiberloop is measured on, each empty, with what its sessions take on disk. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { SessionStore, SessionStoreMemory, SessionStoreSqlite } from "../../src/index.ts"

export interface Store {
  readonly layer: Layer.Layer<SessionStore, unknown>
  /** The same sessions, as another process would open them. */
  readonly again: () => Promise<Layer.Layer<SessionStore, unknown>>
  readonly bytes: (sessionId: string) => Promise<number>
  /** whether `bytes` is the size of the file with all sessions; else that of a session's JSON */
  readonly bytesOf?: "file of all"
  /** Removes a session that is over, where sessions are kept in memory. */
  readonly forget?: (sessionId: string) => Effect.Effect<void>
  readonly remove: () => Promise<void>
}

export type Open = () => Promise<Store>

/** The bytes of the events' JSON. */
const jsonBytes = (layer: Layer.Layer<SessionStore, unknown>) => (sessionId: string) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const events = yield* Stream.runCollect(store.read(sessionId))
    return events.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0)
  }).pipe(Effect.provide(layer), Effect.runPromise)

export const memory: Open = async () => {
  const services = await Effect.runPromise(Effect.scoped(Layer.build(SessionStoreMemory.layer)))
  const layer = Layer.succeedContext(services)
  const forget = (sessionId: string) => Effect.orDie(Context.get(services, SessionStore).remove(sessionId))
  return { layer, again: async () => layer, bytes: jsonBytes(layer), forget, remove: async () => {} }
}

export const sqlite = (durability: "os" | "fsync"): Open => async () => {
  // the cold start uses a store in memory, which loads none of this
  const [{ mkdtempSync, rmSync }, { tmpdir }, { join }, { DatabaseSync }] = await Promise.all([
    import("node:fs"),
    import("node:os"),
    import("node:path"),
    import("node:sqlite")
  ])
  const folder = mkdtempSync(join(tmpdir(), "fiberloop-bench-"))
  const filename = join(folder, "sessions.db")
  const layer = SessionStoreSqlite.layer({ filename, durability })
  /** the size of the file with everything in it; its log of changes is left alone, as in a store that is in use */
  const size = () => {
    const database = new DatabaseSync(filename)
    const pragma = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get()!)[0])
    const bytes = pragma("page_count") * pragma("page_size")
    database.close()
    return bytes
  }
  await Effect.runPromise(Effect.scoped(Layer.build(layer)))
  return {
    layer,
    again: async () => layer,
    bytes: async () => size(),
    bytesOf: "file of all",
    remove: async () => rmSync(folder, { recursive: true, force: true })
  }
}

/** The Postgres of `DATABASE_URL`, else a throwaway one that commits without fsync. */
export const postgres: Open = async () => {
  const { layer: of } = await import("../../src/layers/SessionStorePg.ts")
  const given = process.env["DATABASE_URL"]
  const server = given === undefined || given === ""
    ? await (await import("../../test/support/Postgres.ts")).start()
    : { url: given, remove: async () => {} }
  const layer = of({ url: server.url })
  return { layer, again: async () => layer, bytes: jsonBytes(layer), remove: server.remove }
}
