/** Sessions of other programs: the command leaves them alone, says whose they are, and continues them only if told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { join } from "node:path"
import * as AgentName from "../../../src/cli/session/AgentName.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as RunLog from "../../support/RunLog.ts"
import { idOf, workplace } from "../Invoke.ts"

const app = "app/Support"

/** A place with a session "support-1", each of whose runs is one of these agents' and ends with the rest. */
const withRuns = Effect.fnUntraced(function*(
  ...runs: ReadonlyArray<readonly [agent: string, ...rest: ReadonlyArray<Drafts.Placed>]>
) {
  const place = yield* workplace()
  const id = "support-1"
  const drafts = runs.flatMap(([agent, ...rest], at) =>
    [{ ...Drafts.started("2+2"), agent }, ...rest].map((draft) => ({ ...draft, runId: `run-${at + 1}` }))
  )
  yield* SessionStore.SessionStore.use((store) =>
    Effect.scoped(Effect.flatMap(
      store.open(id, { runId: "run-1", create: true }),
      (session) => session.append(Drafts.log(...drafts) as never)
    ))
  ).pipe(Effect.provide(place.store))
  const events = SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(id))).pipe(
    Effect.provide(place.store)
  )
  return { ...place, id, events }
})

const refund = [
  Drafts.turnStarted(1),
  Drafts.assistant([Drafts.call("refund", { amount: 5 })]),
  { ...Drafts.approvalRequested("1.0"), tool: "refund", approvalId: "run-1/1.0", params: { amount: 5 } },
  Drafts.suspended
]

const refusal = (call: string) =>
  `session "support-1" belongs to the agent "app/Support", and only that agent's program can continue it: call ${call} there; ` +
  "--as-fiberloop continues it with fiberloop's own agent instead\n"

const resume = `agent.resumeRun({ sessionId: "support-1" })`

describe("a session of another program's agent", () => {
  const commands: ReadonlyArray<readonly [words: string, command: string, args: ReadonlyArray<string>, call: string]> =
    [
      ["resume", "resume", ["support-1"], resume],
      ["run with a task", "run", ["--session", "support-1", "what is 1+1?"], resume],
      ["run without a task", "run", ["--session", "suppor"], resume],
      ["chat", "chat", ["--session", "support-1"], resume],
      ["compact", "compact", ["support-1"], `agent.compact("support-1")`]
    ]
  for (const [words, command, args, call] of commands) {
    it.effect(`is refused by ${words}, which leaves its log as it is and names its program's call`, () =>
      Effect.gen(function*() {
        const { events, on } = yield* withRuns([app, ...refund])
        const before = yield* events
        const { code, stderr, stdout } = yield* on(command, args, { input: ["hello"] })
        assert.deepStrictEqual([code, stdout, stderr], [1, "", `fiberloop: ${refusal(call)}`])
        assert.deepStrictEqual(yield* events, before)
      }))
  }

  it.effect("that is complete takes new messages from its program", () =>
    Effect.gen(function*() {
      const { on } = yield* withRuns([app, Drafts.completed()])
      const { stderr } = yield* on("resume", ["support-1"])
      assert.strictEqual(stderr, `fiberloop: ${refusal(`agent.run({ sessionId: "support-1", input })`)}`)
    }))

  it.effect("is left alone by recover, without an error, whether listing or continuing", () =>
    Effect.gen(function*() {
      const { events, on } = yield* withRuns([app])
      const before = yield* events
      for (const flags of [[], ["--list"]]) {
        const { code, stderr, stdout } = yield* on("recover", flags)
        assert.deepStrictEqual([code, stdout], [0, ""])
        assert.strictEqual(stderr, `fiberloop: left alone: ${refusal(resume)}Nothing else was left behind.\n`)
      }
      assert.deepStrictEqual(yield* events, before)
    }))

  it.effect("is not said to be left behind by recover while its program drives it", () =>
    Effect.gen(function*() {
      const { on, store } = yield* withRuns([app])
      const open = SessionStore.SessionStore.use((store) =>
        Effect.andThen(store.open("support-1", { runId: "run-1", create: false }), on("recover", ["--list"]))
      )
      const { code, stderr, stdout } = yield* Effect.provide(Effect.scoped(open), store)
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.strictEqual(stderr, "1 run still going on; left alone.\nNothing was left behind.\n")
    }))

  it.effect("is continued by --as-fiberloop, and the suggested command has the flag as well", () =>
    Effect.gen(function*() {
      const { db, events, on } = yield* withRuns([app, Drafts.turnStarted(1), Drafts.limited()])
      const { code, stderr, stdout } = yield* on("resume", ["support-1", "--as-fiberloop", "--max-turns", "1"])
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.strictEqual(RunLog.only(yield* events, "RunResumed").length, 1)
      assert.include(stderr, `Go on with: fiberloop run --session support-1 --db ${db} --as-fiberloop --max-turns 21`)
    }))

  it.effect("is continued by recover --as-fiberloop", () =>
    Effect.gen(function*() {
      const { on } = yield* withRuns([app])
      assert.deepInclude(yield* on("recover", ["--as-fiberloop"]), { code: 0, stdout: "2+2 = 4\n" })
    }))
})

describe("the owner of a session", () => {
  it.effect("is the agent of its last run", () =>
    Effect.gen(function*() {
      const before = yield* withRuns([app, Drafts.completed()], [AgentName.own, Drafts.completed()])
      assert.include(yield* before.run(["--session", before.id, "3*3"]), { code: 0, stdout: "3*3 = 9\n" })
      const after = yield* withRuns([AgentName.own, Drafts.completed()], [app, Drafts.completed()])
      assert.include(yield* after.run(["--session", after.id, "3*3"]), { code: 1, stdout: "" })
    }))

  it.effect("does not change in a copy", () =>
    Effect.gen(function*() {
      const { on, root, run } = yield* workplace()
      const file = join(root, "session.jsonl")
      const id = idOf(yield* run(["2+2"]))
      yield* on("fork", [id, "--to", "forked"])
      yield* on("export", [id, "--to", file])
      yield* on("import", [file, "--to", "imported"])
      for (const copy of ["forked", "imported"]) {
        assert.include(yield* run(["--session", copy, "3*3"]), { code: 0, stdout: "3*3 = 9\n" })
      }
    }))
})

describe("how the program continues its session", () => {
  const goOn = `go on with it in its program: ${resume}\n`

  for (const command of ["approve", "deny"]) {
    it.effect(`is said by ${command}`, () =>
      Effect.gen(function*() {
        const { code, stderr } = yield* (yield* withRuns([app, ...refund])).on(command, ["support-1"])
        assert.deepStrictEqual([code, stderr], [0, `G${goOn.slice(1)}`])
      }))
  }

  it.effect("is said by show, before and after a call is decided", () =>
    Effect.gen(function*() {
      const { db, on } = yield* withRuns([app, ...refund])
      const before = yield* on("show", ["support-1"])
      assert.include(before.stdout, `\nDecide with: fiberloop approve support-1 --db ${db}, or deny; then ${goOn}`)
      yield* on("deny", ["support-1"])
      const after = yield* on("show", ["support-1"])
      assert.include(after.stdout, `\nDecided; ${goOn}`)
    }))

  it.effect("is said by show for a run that died, was limited, or failed", () =>
    Effect.gen(function*() {
      const ends: ReadonlyArray<readonly [words: string, ends: ReadonlyArray<Drafts.Placed>]> = [
        [`If it died, ${goOn}`, []],
        [
          `Go on with it in its program: agent.resumeRun({ sessionId: "support-1", limits: { maxTurns: 20 } })\n`,
          [Drafts.limited({ turns: 0 })]
        ],
        [`G${goOn.slice(1)}`, [{ _tag: "RunAborted", reason: "requested", totals: Drafts.totals }]]
      ]
      for (const [words, rest] of ends) {
        const { on } = yield* withRuns([app, ...rest])
        assert.include((yield* on("show", ["support-1"])).stdout, `\n${words}`)
      }
    }))

  it.effect("is said by approvals, which names the agent", () =>
    Effect.gen(function*() {
      const { on } = yield* withRuns([app, ...refund])
      const { stdout } = yield* on("approvals")
      assert.match(stdout, /^support-1 {2}2\+2\n {2}for the program of the agent "app\/Support"\n {2}1\.0 {2}refund /)
    }))

  it.effect("is said for a copy by fork and by import", () =>
    Effect.gen(function*() {
      const { on, root } = yield* withRuns([app, ...refund])
      const forked = yield* on("fork", ["support-1", "--to", "copy"])
      const other = (
        id: string
      ) => [`agent.run({ sessionId: "${id}", input })`, `agent.resumeRun({ sessionId: "${id}" })`]
      const [say, again] = other("copy")
      assert.include(forked.stderr, `\nGo on with it in its program: ${say}\nor its run:  ${again}\n`)
      const file = join(root, "session.jsonl")
      yield* on("export", ["copy", "--to", file])
      const imported = yield* on("import", [file, "--to", "second"])
      assert.include(imported.stderr, `\nGo on with it in its program: ${other("second")[1]}\n`)
    }))
})

describe("arguments for a call of another program's tool", () => {
  it.effect("are refused and nothing is decided, because only its program knows the tool", () =>
    Effect.gen(function*() {
      const { events, on } = yield* withRuns([app, ...refund])
      const { code, stderr } = yield* on("approve", ["support-1", "--params", "{\"amount\":1}"])
      assert.deepStrictEqual([code, stderr], [
        1,
        "fiberloop: --params cannot be checked: the command does not know the tools of the agent \"app/Support\"; edit the " +
        "arguments in its program, with agent.decide({ ..., params })\n"
      ])
      assert.deepStrictEqual(RunLog.only(yield* events, "ApprovalResolved"), [])
    }))

  it.effect("are refused, and so is a result for it", () =>
    Effect.gen(function*() {
      const { events, on } = yield* withRuns([app, ...refund])
      const { code, stderr } = yield* on("approve", ["support-1", "--result", "null"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: --result cannot be checked: .*agent\.decide\(\{ \.\.\., result \}\)\n$/)
      assert.deepStrictEqual(RunLog.only(yield* events, "ApprovalResolved"), [])
    }))
})
