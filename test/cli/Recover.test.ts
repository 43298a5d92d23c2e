/** Runs whose process died, found and gone on with from the command line. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as SessionAgent from "../../src/cli/SessionAgent.ts"
import type { Signal } from "../../src/cli/Signals.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Drafts from "../support/Drafts.ts"
import { workplace } from "./Invoke.ts"

/** A place with these sessions, of which each began to work, came to `rest`, and was left. */
const withDead = Effect.fnUntraced(function*(
  dead: Record<string, string>,
  ...rest: ReadonlyArray<Drafts.Placed>
) {
  const place = yield* workplace()
  for (const [sessionId, task] of Object.entries(dead)) {
    yield* SessionStore.SessionStore.use((store) =>
      Effect.scoped(Effect.flatMap(
        store.open(sessionId, { runId: "run-1", create: true }),
        (session) => session.append(Drafts.log({ ...Drafts.started(task), agent: SessionAgent.own }, ...rest) as never)
      ))
    ).pipe(Effect.provide(place.store))
  }
  return place
})

describe("fiberloop recover", () => {
  it.effect("goes on with each of them, the oldest first, and says which", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2", "dead-two": "3*3" })
      const { code, stderr, stdout } = yield* on("recover")
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n3*3 = 9\n"])
      assert.match(stderr, /── dead-one {2}2\+2\n[^]*── dead-two {2}3\*3\n/)
      const again = yield* on("recover")
      assert.deepStrictEqual([again.code, again.stdout, again.stderr], [0, "", "Nothing was left behind.\n"])
    }))

  it.effect("names the arguments of the calls that were under way", () =>
    Effect.gen(function*() {
      const params = { command: ["make", "install"] }
      const { on } = yield* withDead(
        { "dead-one": "2+2" },
        Drafts.turnStarted(1),
        Drafts.assistant([Drafts.call("run_command", params)]),
        { ...Drafts.toolStarted("1.0", params), tool: "run_command" }
      )
      const { stderr } = yield* on("recover")
      assert.include(stderr, "● run_command command=[\"make\",\"install\"]  ✗ Outcome unknown")
    }))

  it.effect("--list only says which there are", () =>
    Effect.gen(function*() {
      const { on, run } = yield* withDead({ "dead-one": "2+2" })
      yield* run(["1+1"])
      const { code, stdout } = yield* on("recover", ["--list"])
      assert.strictEqual(code, 0)
      assert.match(stdout, /^dead-one {2}unfinished {2}0 turns .*2\+2\n$/)
      assert.strictEqual(JSON.parse((yield* on("recover", ["--list", "--json"])).stdout).sessionId, "dead-one")
    }))

  it.effect("leaves alone what another process drives", () =>
    Effect.gen(function*() {
      const { on, store } = yield* withDead({ "dead-one": "2+2" })
      const open = SessionStore.SessionStore.use((store) =>
        Effect.andThen(store.open("dead-one", { runId: "run-1", create: false }), on("recover"))
      )
      const { code, stderr, stdout } = yield* Effect.provide(Effect.scoped(open), store)
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.include(stderr, "1 run still going on, left alone.\n")
    }))

  it.effect("does not go on with one that was being aborted, which resume still does", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2" }, { _tag: "AbortRequested", reason: "requested" })
      const { code, stderr, stdout } = yield* on("recover")
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.include(stderr, "dead-one was being aborted when its process died, left alone.\n")
      assert.strictEqual((yield* on("resume", ["dead-one"])).stdout, "2+2 = 4\n")
    }))

  it.effect("goes on with the others behind one that fails, and says so by its code", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "write a poem", "dead-two": "3*3" })
      const { code, stdout } = yield* on("recover")
      assert.deepStrictEqual([code, stdout], [1, "3*3 = 9\n"])
    }))

  it.effect("stops at a signal with its code, also where the run that it reached was complete by then", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2", "dead-two": "3*3" })
      const signal = yield* Deferred.make<Signal>()
      const { code, stdout } = yield* on("recover", [], {
        signals: { first: Deferred.await(signal), forget: Effect.void },
        onError: (text) => text.includes("✓ completed") && Deferred.doneUnsafe(signal, Effect.succeed("SIGINT"))
      })
      assert.deepStrictEqual([code, stdout], [130, "2+2 = 4\n"])
      assert.include((yield* on("recover", ["--list"])).stdout, "dead-two")
    }))

  it.effect("finds nothing where there is no database, and makes none", () =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      assert.deepStrictEqual((yield* on("recover")).stderr, "Nothing was left behind.\n")
    }))
})

describe("a session whose process died", () => {
  it.effect("is shown with the command that goes on with it", () =>
    Effect.gen(function*() {
      const { db, on } = yield* withDead({ "dead-one": "2+2" })
      const { stdout } = yield* on("show", ["dead-one"])
      assert.include(stdout, `Where it died, go on with: fiberloop resume dead-one --db ${db}\n`)
    }))

  it.effect("takes a new task, found by the beginning of its id", () =>
    Effect.gen(function*() {
      const { run } = yield* withDead({ "dead-one": "2+2" })
      const { code, stdout } = yield* run(["--session", "dead-o", "3*3"])
      assert.deepStrictEqual([code, stdout], [0, "3*3 = 9\n"])
    }))
})
