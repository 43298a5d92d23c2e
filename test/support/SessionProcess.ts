/**
 * A process that works on a session database as it is told: one JSON command a line on stdin, one JSON answer a line on
 * stdout. Started by `Processes.ts` with the file name, or the Postgres URL, as its argument.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { createInterface } from "node:readline"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"

export type Command =
  /** opens the database */
  | { readonly do: "start" }
  | {
    readonly do: "open"
    readonly sessionId: string
    readonly runId: string
    readonly create?: boolean
    /** for requests to abort its run */
    readonly listens?: boolean
  }
  /** appends this many notices */
  | { readonly do: "append"; readonly count: number; readonly text?: string }
  | { readonly do: "close" }

export type Answer = { readonly ok: true } | { readonly ok: false; readonly reason: SessionStore.StoreError["reason"] }

const notice = (seq: number, runId: string, text: string): RunEvent.Durable => ({
  _tag: "NoticeAdded",
  seq,
  at: seq,
  runId,
  version: RunEvent.version,
  kind: "resume",
  text
})

const make = (place: string) =>
  place.startsWith("postgres") ? SessionStorePg.make({ url: place }) : SessionStoreSqlite.make({ filename: place })

const main = Effect.gen(function*() {
  const scope = yield* Scope.Scope
  const place = process.argv[2]!
  let store: SessionStore.Store
  let session: SessionStore.Session
  let runId = ""
  let sessionScope = yield* Scope.make()

  const perform = Effect.fnUntraced(function*(command: Command) {
    switch (command.do) {
      case "start":
        store = yield* Scope.provide(make(place), scope)
        return
      case "open": {
        const { create = true, listens = false, sessionId } = command
        runId = command.runId
        sessionScope = yield* Scope.make()
        const options = { runId, create, ...(listens ? { onAbortAsked: Effect.void } : {}) }
        session = yield* Scope.provide(store.open(sessionId, options), sessionScope)
        return
      }
      case "append":
        for (let n = 0; n < command.count; n++) {
          yield* session.append([notice(session.head() + 1, runId, command.text ?? "x")])
        }
        return
      case "close":
        return yield* Scope.close(sessionScope, Exit.void)
    }
  })

  const answer = (command: Command) =>
    Effect.match(perform(command), {
      onFailure: (error): Answer => ({ ok: false, reason: error.reason }),
      onSuccess: (): Answer => ({ ok: true })
    })

  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  process.stdout.write("ready\n")
  while (true) {
    const line = yield* Effect.promise(() => lines.next())
    if (line.done === true) return
    process.stdout.write(`${JSON.stringify(yield* answer(JSON.parse(line.value)))}\n`)
  }
})

void Effect.runPromise(Effect.scoped(main))
