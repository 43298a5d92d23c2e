/** Two processes that answer the same questions at the same time: one answer counts, and takes effect once. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import { layer, Payer, payments } from "./Payer.ts"

const rounds = process.env["FIBERLOOP_SWEEP"] === "all" ? 1000 : 40
const script = join(import.meta.dirname, "DecideProcess.ts")

/** A process that answers as told, and reports what became of the answer. */
const decider = Effect.fnUntraced(function*(folder: string, by: string) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [script, folder, by], { stdio: ["pipe", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const said = Effect.map(Effect.promise(() => lines.next()), ({ value }): unknown => value)
  assert.strictEqual(yield* said, "ready")
  return {
    by,
    answer: (sessionId: string, word: string) =>
      Effect.suspend(() => {
        child.stdin.write(`${sessionId} ${word}\n`)
        return said
      })
  }
})

it.live(
  `when two processes answer at once, one wins in each of ${rounds} rounds, and what it approved runs once`,
  () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      yield* Effect.gen(function*() {
        const payer = yield* Payer
        const store = yield* SessionStore.SessionStore
        const deciders = yield* Effect.all([decider(folder, "ann"), decider(folder, "bob")])
        const wins = new Set<string>()
        for (let round = 0; round < rounds; round++) {
          const sessionId = `round-${round}`
          yield* payer.run({ sessionId, runId: sessionId, input: "go" })
          const words = { ann: "yes", bob: round % 2 === 0 ? "yes" : "no" } as Record<string, string>
          // neither always goes first
          const told = round % 4 < 2 ? deciders : deciders.toReversed()
          const said = yield* Effect.all(told.map(({ answer, by }) => answer(sessionId, words[by]!)), {
            concurrency: "unbounded"
          })
          const [winner, ...others] = told.filter((_, i) => said[i] === "won")
          assert.isEmpty(others, sessionId)
          assert.includeMembers(["won", "answered", "SessionBusy"], said, sessionId)
          wins.add(winner!.by)

          yield* Stream.runDrain(payer.resume({ sessionId }))
          const log = yield* Stream.runCollect(store.read(sessionId))
          assert.deepStrictEqual(RunLog.violations(log), [])
          assert.deepStrictEqual(RunLog.only(log, "ApprovalResolved").map(({ by }) => by), [winner!.by])
          const isAllowed = words[winner!.by] === "yes"
          assert.deepStrictEqual(RunLog.outcomes(log), [isAllowed ? "1.0 Succeeded" : "1.0 Denied"])
          assert.strictEqual(payments(folder).filter((id) => id === sessionId).length, isAllowed ? 1 : 0)
        }
        // each won at least once
        assert.strictEqual(wins.size, 2)
      }).pipe(Effect.provide(layer(folder)))
    }),
  600_000
)
