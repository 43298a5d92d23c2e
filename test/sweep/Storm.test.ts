/** Processes that fight for one session, one of them stopped past its lease: what was acknowledged is stored once. */
import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import { temporaryFolder } from "../support/Processes.ts"
import { type Name, stores } from "./Stores.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"
const script = join(import.meta.dirname, "StormProcess.ts")

interface Fighter {
  readonly acks: ReadonlyArray<readonly [seq: number, text: string]>
  /** Waits until this many more were acknowledged, or for its end. */
  readonly acked: (more: number) => Effect.Effect<void>
  readonly goOn: () => void
  readonly ended: Effect.Effect<number | NodeJS.Signals>
}

const fighter = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const acks: Array<readonly [number, string]> = []
  const waiting = new Set<{ readonly at: number; readonly done: Deferred.Deferred<void> }>()
  let isOver = false
  const look = () => {
    for (const { at, done } of waiting) if (isOver || acks.length >= at) Deferred.doneUnsafe(done, Effect.void)
  }
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [, seq, text = ""] = line.split(" ")
    acks.push([Number(seq), text])
    look()
  })
  const end = once(child, "close").then(([code, signal]) => {
    isOver = true
    look()
    return (code ?? signal) as number | NodeJS.Signals
  })
  const self: Fighter = {
    acks,
    acked: (more) =>
      Effect.suspend(() => {
        if (isOver) return Effect.void
        const done = Deferred.makeUnsafe<void>()
        waiting.add({ at: acks.length + more, done })
        return Deferred.await(done)
      }),
    goOn: () => child.kill("SIGCONT"),
    ended: Effect.promise(() => end)
  }
  return self
})

const targets: Record<Name, Effect.Effect<string, never, Scope.Scope>> = {
  Sqlite: Effect.map(temporaryFolder, (folder) => join(folder, "sessions.db")),
  Pg: PgDatabases.database
}

for (const name of Object.keys(stores) as ReadonlyArray<Name>) {
  it.live(
    `${name}: what many writers were acknowledged is stored once and in order, though one was stopped past its lease`,
    () =>
      Effect.gen(function*() {
        const target = yield* targets[name]
        const rounds = isWhole ? "400" : "60"
        const [stopped, ...others] = yield* Effect.forEach(
          [["a", "stops"], ["b"], ["c"], ["d"]],
          (how) => fighter([name, target, "s", rounds, ...how]),
          { concurrency: "unbounded" }
        )
        yield* stopped!.acked(3)
        // they proceed without it, although it has the session; not so where it was stopped while it renewed its lease, in a transaction
        yield* Effect.forEach(others, (other) => other.acked(10), { concurrency: "unbounded", discard: true }).pipe(
          Effect.timeoutOption("30 seconds")
        )
        stopped!.goOn()
        const all = [stopped!, ...others]
        const ends = yield* Effect.forEach(all, ({ ended }) => ended, { concurrency: "unbounded" })
        assert.deepStrictEqual(ends, [0, 0, 0, 0])

        const log = yield* SessionStore.SessionStore.use((store) => Stream.runCollect(store.read("s"))).pipe(
          Effect.provide(stores[name](target))
        )
        assert.deepStrictEqual(log.map(({ seq }) => seq), Arr.range(1, log.length))
        const texts = log.map((event) => event._tag === "NoticeAdded" ? event.text : event._tag)
        assert.strictEqual(new Set(texts).size, texts.length)
        for (const { acks } of all) {
          for (const [seq, text] of acks) assert.strictEqual(texts[seq - 1], text)
          assert.isAtLeast(acks.length, 3)
        }
      }),
    300_000
  )
}
