/** Runs whose process died, found and continued from the command line. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as AgentName from "../../src/cli/session/AgentName.ts"
import type { Signal } from "../../src/cli/terminal/Signals.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Drafts from "../support/Drafts.ts"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import { workplace } from "./Invoke.ts"
import * as Replies from "./Replies.ts"

type Place = Effect.Success<ReturnType<typeof workplace>>

/** A session that started work, reached `rest`, and was left behind. */
const die = ({ store }: Place, sessionId: string, task: string, ...rest: ReadonlyArray<Drafts.Placed>) =>
  SessionStore.SessionStore.use((store) =>
    Effect.scoped(Effect.flatMap(
      store.open(sessionId, { runId: "run-1", create: true }),
      (session) => session.append(Drafts.log({ ...Drafts.started(task), agent: AgentName.own }, ...rest) as never)
    ))
  ).pipe(Effect.provide(store))

/** A place with these sessions. */
const withDead = Effect.fnUntraced(function*(
  dead: Record<string, string>,
  ...rest: ReadonlyArray<Drafts.Placed>
) {
  const place = yield* workplace()
  for (const [sessionId, task] of Object.entries(dead)) yield* die(place, sessionId, task, ...rest)
  return place
})

describe("fiberloop recover", () => {
  it.effect("continues each run, the oldest first, and says which", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2", "dead-two": "3*3" })
      const { code, stderr, stdout } = yield* on("recover")
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n3*3 = 9\n"])
      assert.match(stderr, /── dead-one {2}2\+2\n[^]*── dead-two {2}3\*3\n/)
      const again = yield* on("recover")
      assert.deepStrictEqual([again.code, again.stdout, again.stderr], [0, "", "Nothing was left behind.\n"])
    }))

  it.effect("continues a run that its store ended", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "left-one": "2+2" }, Drafts.turnStarted(1), Drafts.failed("StoreUnavailable"))
      const { code, stdout } = yield* on("recover")
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n"])
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

  it.effect("--list only says which runs there are", () =>
    Effect.gen(function*() {
      const { on, run } = yield* withDead({ "dead-one": "2+2" })
      yield* run(["1+1"])
      const { code, stdout } = yield* on("recover", ["--list"])
      assert.strictEqual(code, 0)
      assert.match(stdout, /^dead-one {2}unfinished {2}0 turns .*2\+2\n$/)
      assert.strictEqual(JSON.parse((yield* on("recover", ["--list", "--json"])).stdout).sessionId, "dead-one")
    }))

  it.effect("--list --json prints each as a line", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2", "dead-two": "3*3" })
      const { stdout } = yield* on("recover", ["--list", "--json"])
      const ids = stdout.trimEnd().split("\n").map((line) => JSON.parse(line).sessionId)
      assert.deepStrictEqual(ids, ["dead-one", "dead-two"])
    }))

  it.effect("--list lists a session whose model's name means another provider now, which is left alone otherwise", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      const model = { provider: "openai-compatible", name: "anthropic/claude-x" }
      yield* die(place, "dead-one", "2+2", { ...Drafts.turnStarted(1), model })
      const env = { ANTHROPIC_API_KEY: "key" }
      const { code, stderr, stdout } = yield* place.on("recover", ["--list"], { env })
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, /^dead-one {2}unfinished {2}0 turns .*2\+2\n$/)
      const left = yield* place.on("recover", [], { env })
      assert.deepStrictEqual([left.code, left.stdout], [1, ""])
      assert.include(left.stderr, "and would be asked of the provider anthropic now")
    }))

  it.effect("continues the others if the model of one is not available, and says so", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      const model = { provider: "openai-compatible", name: "m" }
      yield* die(place, "dead-one", "2+2", { ...Drafts.turnStarted(1), model, at: 1 })
      yield* die(place, "dead-two", "3*3", Drafts.turnStarted(1))
      const { code, stderr, stdout } = yield* place.on("recover")
      assert.deepStrictEqual([code, stdout], [1, "3*3 = 9\n"])
      assert.include(
        stderr,
        "── dead-one  2+2\nfiberloop: the model \"m\", which answered in this session, needs a key"
      )
    }))

  it.effect("continues none if the model named is not available", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2", "dead-two": "3*3" })
      const { code, stderr, stdout } = yield* on("recover", ["--model", "m"])
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.match(stderr, /^fiberloop: the model "m" needs a key[^\n]*\n$/)
    }))

  it.effect("leaves alone what another process drives", () =>
    Effect.gen(function*() {
      const { on, store } = yield* withDead({ "dead-one": "2+2" })
      const open = SessionStore.SessionStore.use((store) =>
        Effect.andThen(store.open("dead-one", { runId: "run-1", create: false }), on("recover"))
      )
      const { code, stderr, stdout } = yield* Effect.provide(Effect.scoped(open), store)
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.include(stderr, "1 run still going on; left alone.\n")
    }))

  const newer: Drafts.Placed & { readonly version: number } = { ...Drafts.turnStarted(1), version: 99 }

  it.effect("exits with an error if a newer version wrote a session, and continues the others", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* die(place, "newer", "2+2", newer)
      yield* die(place, "dead-two", "3*3")
      const list = yield* place.on("recover", ["--list"])
      assert.deepStrictEqual([list.code, list.stdout.slice(0, 8)], [1, "dead-two"])
      const { code, stderr, stdout } = yield* place.on("recover")
      assert.deepStrictEqual([code, stdout], [1, "3*3 = 9\n"])
      assert.match(stderr, /^fiberloop: [^\n]*"newer"[^\n]* version 99/)
      assert.notInclude(stderr, "still going on")
    }))

  it.effect.each<readonly [string, Drafts.Placed]>([
    ["after its start", newer],
    ["from its start on", { ...Drafts.started("2+2"), agent: AgentName.own, version: 99 } as Drafts.Placed]
  ])(
    "exits with an error if a session could not be read %s, and says that nothing else was left behind",
    ([, event]) =>
      Effect.gen(function*() {
        const { on } = yield* withDead({ newer: "2+2" }, event)
        const { code, stderr } = yield* on("recover", ["--list"])
        assert.strictEqual(code, 1)
        assert.match(stderr, /^fiberloop: [^\n]*"newer"[^\n]* version 99[^\n]+\nNothing else was left behind\.\n$/)
      })
  )

  it.effect("starts none of those that remain once nobody reads its output", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2", "dead-two": "3*3" })
      const { code } = yield* on("recover", ["--json"], { closesAt: 1 })
      assert.strictEqual(code, 141)
      assert.include((yield* on("recover", ["--list"])).stdout, "dead-two")
    }))

  it.effect("does not continue a run that was being aborted, which resume still does", () =>
    Effect.gen(function*() {
      const { db, on } = yield* withDead({ "dead-one": "2+2" }, { _tag: "AbortRequested", reason: "requested" })
      const { code, stderr, stdout } = yield* on("recover")
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.include(stderr, "dead-one was being aborted when its process died; left alone. ")
      assert.include(stderr, ` End it with: fiberloop abort dead-one --db ${db}\n`)
      assert.strictEqual((yield* on("resume", ["dead-one"])).stdout, "2+2 = 4\n")
    }))

  it.effect("does not say that nothing was left behind if it left a run alone that was being aborted", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2" }, { _tag: "AbortRequested", reason: "requested" })
      for (const flags of [[], ["--list"]]) {
        assert.match((yield* on("recover", flags)).stderr, /left alone\. [^\n]+\nNothing else was left behind\.\n$/)
      }
    }))

  it.effect("continues the others after one fails, and exits with an error", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "write a poem", "dead-two": "3*3" })
      const { code, stdout } = yield* on("recover")
      assert.deepStrictEqual([code, stdout], [1, "3*3 = 9\n"])
    }))

  it.effect("stops at a signal with its code, even if the current run was already complete", () =>
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

  it.effect("exits normally if a signal arrives as the last run completes", () =>
    Effect.gen(function*() {
      const { on } = yield* withDead({ "dead-one": "2+2" })
      const signal = yield* Deferred.make<Signal>()
      const { code, stdout } = yield* on("recover", [], {
        signals: { first: Deferred.await(signal), forget: Effect.void },
        onError: (text) => text.includes("✓ completed") && Deferred.doneUnsafe(signal, Effect.succeed("SIGINT"))
      })
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n"])
    }))

  it.effect("finds nothing if there is no database, and creates none", () =>
    Effect.gen(function*() {
      const { db, on } = yield* workplace()
      const { code, stderr } = yield* on("recover")
      assert.deepStrictEqual([code, stderr], [
        0,
        `Nothing was left behind: there is no database ${JSON.stringify(db)}.\n`
      ])
    }))
})

describe("calls that somebody has allowed, and that a dead process had not begun", () => {
  const command = ["node", "--version"]
  /** Three calls: allowed, allowed with other arguments, and denied. */
  const decided: ReadonlyArray<Drafts.Placed> = [
    Drafts.turnStarted(1),
    Drafts.assistant([0, 1, 2].map((n) => Drafts.call("run_command", { command: ["ls", `${n}`] }))),
    ...[0, 1, 2].map((n) => ({ ...Drafts.approvalRequested(`1.${n}`), tool: "run_command" })),
    { ...Drafts.approvalResolved("1.0"), by: "alice", params: { command } },
    Drafts.approvalResolved("1.1", false),
    { ...Drafts.approvalResolved("1.2"), params: { command } }
  ]
  const lines = [
    "  1.0  run_command command=[\"node\",\"--version\"]  will run, approved by alice\n",
    "  1.2  run_command command=[\"node\",\"--version\"]  will run, approved\n"
  ]

  it.effect("are named by recover --list, below their session", () =>
    Effect.gen(function*() {
      const place = yield* withDead({ "dead-one": "2+2" }, ...decided)
      yield* die(place, "dead-two", "3*3")
      const { stdout } = yield* place.on("recover", ["--list"])
      assert.match(stdout, /^dead-two [^\n]+\ndead-one [^\n]+\n {2}1\.0[^\n]+\n {2}1\.2[^\n]+\n$/)
      assert.include(stdout, lines.join(""))
    }))

  it.effect("are fields of recover --list --json", () =>
    Effect.gen(function*() {
      const place = yield* withDead({ "dead-one": "2+2" }, ...decided)
      yield* die(place, "dead-two", "3*3")
      const { stdout } = yield* place.on("recover", ["--list", "--json"])
      const call = { tool: "run_command", params: { command } }
      assert.deepStrictEqual(stdout.trimEnd().split("\n").map((line) => JSON.parse(line).willRun), [
        undefined,
        [{ callId: "1.0", ...call, by: "alice" }, { callId: "1.2", ...call }]
      ])
    }))

  it.effect.each(["resume dead-one --json", "recover --json", "run --session dead-one --json"])(
    "are named by %s beside the events",
    (typed) =>
      Effect.gen(function*() {
        const { on } = yield* withDead({ "dead-one": "2+2" }, ...decided)
        const server = yield* OpenAiServer.make(Replies.says("Done."))
        const [name, ...args] = typed.split(" ")
        const { stderr } = yield* on(name!, [...args, "--model", "m"], { env: Replies.env(server) })
        assert.include(stderr, lines.join(""))
      })
  )

  it.effect.each(["resume dead-one", "recover", "run --session dead-one"])(
    "are named by %s before they are made",
    (typed) =>
      Effect.gen(function*() {
        const { on } = yield* withDead({ "dead-one": "2+2" }, ...decided)
        const server = yield* OpenAiServer.make(Replies.says("Done."))
        const [name, ...args] = typed.split(" ")
        const { code, stderr, tape } = yield* on(name!, [...args, "--model", "m"], { env: Replies.env(server) })
        assert.strictEqual(code, 0, stderr)
        assert.include(stderr, lines.join(""))
        assert.isBelow(tape.indexOf(lines[1]!), tape.indexOf("● run_command"))
      })
  )
})

describe("a session whose process died", () => {
  it.effect("is shown with the command that continues it", () =>
    Effect.gen(function*() {
      const { db, on } = yield* withDead({ "dead-one": "2+2" })
      const { stdout } = yield* on("show", ["dead-one"])
      assert.include(stdout, `If it died, go on with: fiberloop resume dead-one --db ${db}\n`)
    }))

  it.effect("takes a new task, found by the beginning of its id", () =>
    Effect.gen(function*() {
      const { run } = yield* withDead({ "dead-one": "2+2" })
      const { code, stdout } = yield* run(["--session", "dead-o", "3*3"])
      assert.deepStrictEqual([code, stdout], [0, "3*3 = 9\n"])
    }))
})
