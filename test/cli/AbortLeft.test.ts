/** Runs that wait, or that a process left behind, aborted from the command line. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as AgentName from "../../src/cli/session/AgentName.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import { withSession, workplace } from "./Invoke.ts"

const writing = { path: "a.txt", content: "a" }

const called = [Drafts.turnStarted(1), Drafts.assistant([Drafts.call("write_file", writing)])]

const waiting = [
  ...called,
  { ...Drafts.approvalRequested("1.0"), tool: "write_file", approvalId: "run-1/1.0", params: writing },
  Drafts.suspended
]

const died = [...called, { ...Drafts.toolStarted("1.0", writing), tool: "write_file" }]

/** A place with one agent's session, whose log continues with `rest`. */
const left = Effect.fnUntraced(function*(rest: ReadonlyArray<Drafts.Placed>, agent = AgentName.own) {
  const place = yield* workplace()
  const log = Drafts.log({ ...Drafts.started("write it down"), agent }, ...rest)
  yield* SessionStore.SessionStore.use((store) =>
    Effect.scoped(Effect.flatMap(
      store.open("left-one", { runId: "run-1", create: true }),
      (session) => session.append(log as never)
    ))
  ).pipe(Effect.provide(place.store))
  const events = SessionStore.SessionStore.use((store) => Stream.runCollect(store.read("left-one"))).pipe(
    Effect.provide(place.store)
  )
  return { ...place, events }
})

describe("fiberloop abort", () => {
  it.effect("ends a run that waits: its question is gone, and its call does not run", () =>
    Effect.gen(function*() {
      const { events, on } = yield* left(waiting)
      const { code, stderr, stdout } = yield* on("abort", ["left-o"])
      assert.deepStrictEqual([code, stdout], [0, "✓ aborted the run of session left-one\n"])
      assert.match(stderr, /^Go on with it anyway: fiberloop resume left-one --db \S+\n$/)
      assert.strictEqual((yield* on("approvals")).stdout, "")
      const log = yield* events
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(aborted)"])
      assert.match((yield* on("sessions")).stdout, /^left-one {2}aborted /)
    }))

  it.effect("ends a run whose process died, which recover then leaves alone", () =>
    Effect.gen(function*() {
      const { events, on } = yield* left(died)
      assert.strictEqual((yield* on("abort", ["left-one"])).code, 0)
      assert.deepStrictEqual(RunLog.outcomes(yield* events), ["1.0 OutcomeUnknown"])
      assert.strictEqual((yield* on("recover")).stderr, "Nothing was left behind.\n")
    }))

  it.effect("ends runs of other programs, and says how to continue them", () =>
    Effect.gen(function*() {
      const { events, on } = yield* left(waiting, "app/Support")
      const { code, stderr } = yield* on("abort", ["left-one"])
      assert.deepStrictEqual(
        [code, stderr],
        [0, "Go on with it anyway in its program: agent.resumeRun({ sessionId: \"left-one\" })\n"]
      )
      assert.strictEqual(RunLog.endOf(yield* events), "RunAborted(requested)")
    }))

  it.effect("leaves a finished run as it is, and says how it ended", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const before = yield* on("show", [id, "--json"])
      const { code, stderr, stdout } = yield* on("abort", [id])
      assert.deepStrictEqual([code, stderr, stdout], [
        0,
        "",
        `The last run of session ${id} was already over: completed.\n`
      ])
      assert.strictEqual((yield* on("show", [id, "--json"])).stdout, before.stdout)
    }))

  it.effect("leaves a run that was aborted before as it is, and says so", () =>
    Effect.gen(function*() {
      const { events, on } = yield* left(waiting)
      yield* on("abort", ["left-one"])
      const before = yield* events
      const { code, stderr, stdout } = yield* on("abort", ["left-one"])
      assert.deepStrictEqual([code, stderr, stdout], [
        0,
        "",
        "The last run of session left-one was already over: aborted.\n"
      ])
      assert.deepStrictEqual(yield* events, before)
    }))

  it.effect("prints the session for programs with --json", () =>
    Effect.gen(function*() {
      const { on } = yield* left(waiting)
      const { stdout } = yield* on("abort", ["left-one", "--json"])
      assert.deepInclude(JSON.parse(stdout), { sessionId: "left-one", end: "RunAborted", title: "write it down" })
    }))

  // it looks twice, a moment apart
  it.live("leaves alone what another process drives, and what does not exist", () =>
    Effect.gen(function*() {
      const { events, on, store } = yield* left(waiting)
      const before = yield* events
      const open = SessionStore.SessionStore.use((store) =>
        Effect.andThen(store.open("left-one", { runId: "run-1", create: false }), on("abort", ["left-one"]))
      )
      const busy = yield* Effect.provide(Effect.scoped(open), store)
      assert.deepStrictEqual([busy.code, busy.stdout], [1, ""])
      assert.strictEqual(
        busy.stderr,
        "fiberloop: session \"left-one\" is in use by another process that cannot be asked to abort: try again, or abort its run there\n"
      )
      assert.deepStrictEqual(yield* events, before)
      assert.match((yield* on("abort", ["right-one"])).stderr, /^fiberloop: there is no session "right-one"/)
    }))
})
