/** Processes that work with one agent on the sessions of a folder, and the logs that they leave. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { kill } from "../support/Processes.ts"
import * as SqliteStores from "../support/SqliteStores.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import type { Command } from "./WorkerProcess.ts"

export type Told = Readonly<Record<string, unknown>>

export interface Worker {
  readonly pid: number
  /** The answer to a command: what it returned, or the tag of its error. */
  readonly ask: (command: Command) => Effect.Effect<Told>
  /** Sends a command, and returns its number with the wait for its answer. */
  readonly send: (command: Command) => Effect.Effect<{ readonly id: number; readonly answer: Effect.Effect<Told> }>
  readonly interrupt: (which: number) => Effect.Effect<Told>
  /** Waits until something that fits was told, from its beginning on. */
  readonly told: (fits: (what: Told) => boolean) => Effect.Effect<Told>
  readonly signal: (signal: "SIGSTOP" | "SIGCONT" | "SIGTERM") => Effect.Effect<void>
  /** Waits until its process has ended. */
  readonly ended: Effect.Effect<unknown>
  readonly kill: Effect.Effect<void>
}

const script = join(import.meta.dirname, "WorkerProcess.ts")

export const start = Effect.fnUntraced(function*(options: WorkerAgent.Options) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ["pipe", "pipe", "inherit"] })
    ),
    kill
  )
  const all: Array<Told> = []
  const waiting = new Set<(what: Told) => void>()
  createInterface({ input: child.stdout }).on("line", (line) => {
    const what: Told = JSON.parse(line)
    all.push(what)
    for (const look of waiting) look(what)
  })
  const end = once(child, "exit")
  const told = (fits: (what: Told) => boolean) =>
    Effect.suspend(() => {
      const known = all.find(fits)
      if (known !== undefined) return Effect.succeed(known)
      const found = Deferred.makeUnsafe<Told>()
      const look = (what: Told) => {
        if (fits(what)) Deferred.doneUnsafe(found, Effect.succeed(what))
      }
      waiting.add(look)
      return Effect.ensuring(Deferred.await(found), Effect.sync(() => waiting.delete(look)))
    })
  let last = 0
  const write = (command: object) => {
    const id = ++last
    child.stdin.write(`${JSON.stringify({ ...command, id })}\n`)
    return { id, answer: told((what) => what["id"] === id) }
  }
  const self: Worker = {
    pid: child.pid!,
    told,
    send: (command) => Effect.sync(() => write(command)),
    ask: (command) => Effect.suspend(() => write(command).answer),
    interrupt: (which) => Effect.suspend(() => write({ do: "interrupt", which }).answer),
    signal: (signal) => Effect.sync(() => void child.kill(signal)),
    ended: Effect.promise(() => end),
    kill: kill(child)
  }
  yield* told(({ at }) => at === "ready")
  return self
})

/** What a process tells when a gate holds something. */
export const atGate = (name: string) => (what: Told) => what["at"] === "gate" && what["name"] === name

export const plan = (...turns: WorkerAgent.Plan): string => JSON.stringify(turns)

/** The log of a session. */
export const logOf = (folder: string, sessionId: string): Effect.Effect<ReadonlyArray<RunEvent.Durable>> =>
  SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(sessionId))).pipe(
    Effect.provide(WorkerAgent.store({ folder })),
    Effect.orDie
  )

/** The same, once its run has ended: as `tag`, or otherwise than by a death. */
export const ended = (
  folder: string,
  sessionId: string,
  tag?: RunEvent.End["_tag"]
): Effect.Effect<ReadonlyArray<RunEvent.Durable>> =>
  SessionStore.SessionStore.use((store) =>
    Stream.runCollect(
      Stream.takeUntil(
        store.watch(sessionId),
        (event) => RunEvent.isEnd(event) && (tag === undefined ? !RunEvent.isCrash(event) : event._tag === tag)
      )
    )
  ).pipe(Effect.provide(WorkerAgent.store({ folder })), Effect.orDie)

/** Waits until the log of a session has such an event. */
export const happened = (
  folder: string,
  sessionId: string,
  isIt: (event: RunEvent.Durable) => boolean
): Effect.Effect<void> =>
  SessionStore.SessionStore.use((store) => Stream.runDrain(Stream.takeUntil(store.watch(sessionId), isIt))).pipe(
    Effect.provide(WorkerAgent.store({ folder })),
    Effect.orDie
  )

/** Waits until an input is on its way to a process. */
export const sent = (folder: string) => rowsOf(folder, "fiberloop_sent")

/** Waits until a process was asked to abort. */
export const askedToAbort = (folder: string) => rowsOf(folder, "fiberloop_aborts")

const rowsOf = (folder: string, table: string) =>
  Effect.repeat(
    Effect.sync(() =>
      SqliteStores.sqlOn(join(folder, "sessions.db"), (db) => db.prepare(`SELECT owner FROM ${table}`).all())
    ),
    { until: (rows) => rows.length > 0 }
  )

export const ok = (told: Told): unknown => "ok" in told ? told["ok"] : told
