/**
 * A session store of your own, over another one: whatever is stored is also copied to a folder, one file of JSON lines per
 * session, for people and other tools to read. A store is one service; this one changes three of its methods and passes the
 * rest on, by name: a spread of an instance of a class has no methods. An event is copied from the log after it is stored: the
 * copy may lag after a crash, and catches up when the session is next opened, so it has each event once and in order. When a
 * copy cannot be made, that is logged, and no run fails. For one process only; the store below may serve many.
 *
 * For your own database, implement all methods, and run `SessionStoreSuite`, as the test beside this file does.
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/own-store.ts`
 */
import { NodeFileSystem, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, FileSystem, Layer, Semaphore, Stream } from "effect"
import { Agent, Fiberloop, ModelOpenAi, SessionStore, SessionStoreMemory } from "fiberloop"
import { createHash } from "node:crypto"
import { join } from "node:path"

/** The copy of a session, named by a hash: an id may contain what a file name may not. */
export const fileOf = (folder: string, sessionId: string) =>
  join(folder, `${createHash("sha256").update(sessionId).digest("hex").slice(0, 32)}.jsonl`)

/** Copies what the store in the context keeps to `folder`, which must exist. */
export const make = Effect.fnUntraced(function*(folder: string) {
  const store = yield* SessionStore
  const fs = yield* FileSystem.FileSystem
  const oneByOne = Semaphore.makeUnsafe(1)
  const counts = new Map<string, number>()
  let isClosed = false
  // once the store is closed, the folder may be removed: what is stored later is copied when its session is next opened
  yield* Effect.addFinalizer(() => oneByOne.withPermit(Effect.sync(() => isClosed = true)))

  /** How many events the copy has; half a line, left by a crash, does not count. */
  const count = Effect.fnUntraced(function*(file: string) {
    const text = (yield* fs.exists(file)) ? yield* fs.readFileString(file) : ""
    const whole = text.slice(0, text.lastIndexOf("\n") + 1)
    if (whole !== text) yield* fs.writeFileString(file, whole)
    return whole.split("\n").length - 1
  })

  /** Appends what the copy lacks of the log: `seq` is gap-free, so the number of lines is the last `seq` copied. */
  const copy = (sessionId: string) =>
    Effect.gen(function*() {
      if (isClosed) return
      const file = fileOf(folder, sessionId)
      const copied = counts.get(file) ?? (yield* count(file))
      counts.delete(file)
      const events = yield* Stream.runCollect(store.read(sessionId, { from: copied + 1 }))
      const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("")
      yield* fs.writeFileString(file, lines, { flag: "a" })
      counts.set(file, copied + events.length)
    }).pipe(
      Effect.catch((error) => Effect.logWarning(`session "${sessionId}" was not copied: ${error.message}`)),
      oneByOne.withPermit
    )

  const forget = (sessionId: string) =>
    Effect.suspend(() => {
      counts.delete(fileOf(folder, sessionId))
      return Effect.ignore(fs.remove(fileOf(folder, sessionId), { force: true }))
    }).pipe(oneByOne.withPermit)

  return SessionStore.of({
    ...elsewhere(store),
    read: (sessionId, range) => store.read(sessionId, range),
    watch: (sessionId, from) => store.watch(sessionId, from),
    lastOf: (sessionId, type, runId) => store.lastOf(sessionId, type, runId),
    list: (options) => store.list(options),
    info: (sessionId) => store.info(sessionId),
    open: Effect.fnUntraced(function*(sessionId, options) {
      const session = yield* store.open(sessionId, options)
      if (session.head() > 0) yield* copy(sessionId)
      // the contract: an append cannot be interrupted, and fails only where nothing was stored
      return {
        sessionId,
        head: () => session.head(),
        append: (events) => Effect.uninterruptible(Effect.andThen(session.append(events), copy(sessionId)))
      }
    }),
    fork: (sessionId, options) => Effect.tap(store.fork(sessionId, options), () => copy(options.to)),
    // the copy first: if that is too early, it can be made again; a copy left over would later be another session's
    remove: (sessionId) => Effect.andThen(forget(sessionId), store.remove(sessionId))
  })
})

type Store = SessionStore["Service"]

/** How runs of other processes are told something: a store that lacks it below lacks it here. */
const elsewhere = (store: Store): Pick<Store, "askToAbort" | "send"> => {
  const askToAbort: Store["askToAbort"] = (sessionId, runId) => store.askToAbort!(sessionId, runId)
  const send: Store["send"] = (sessionId, runId, sent) => store.send!(sessionId, runId, sent)
  return { ...(store.askToAbort && { askToAbort }), ...(store.send && { send }) }
}

export const layer = (folder: string) => Layer.effect(SessionStore, make(folder))

if (process.argv[1] === import.meta.filename) {
  const Store = layer(".").pipe(Layer.provide([SessionStoreMemory.layer, NodeFileSystem.layer]))
  const Model = ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
  const program = Effect.gen(function*() {
    const agent = yield* Agent.make({ instructions: "Be brief." })
    const { sessionId, text } = yield* agent.run({ input: "Hello!" })
    yield* Console.log(`${text}\n\nall of it: ${fileOf(".", sessionId)}`)
  })
  NodeRuntime.runMain(Effect.provide(program, Layer.mergeAll(Fiberloop.layer, Store, Model)))
}
