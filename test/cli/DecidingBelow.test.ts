/** Calls that wait for a question asked by a run below them: listed, decided and reported by the command. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import { workplace } from "./Invoke.ts"

const question = { ...Drafts.approvalRequested("1.0"), approvalId: "below-1/1.0", params: { euros: 80 } }

const called = [Drafts.turnStarted(1), Drafts.assistant([Drafts.call("search", { q: "tides" })])] as const

/** A session whose call waits for a question asked in another session. */
const waiting = Effect.gen(function*() {
  const place = yield* workplace()
  const put = (sessionId: string, runId: string, drafts: ReadonlyArray<Drafts.Placed>) =>
    SessionStore.SessionStore.use((store) =>
      Effect.scoped(Effect.flatMap(
        store.open(sessionId, { runId, create: true }),
        (session) => session.append(Drafts.log(...drafts).map((event) => ({ ...event, runId })) as never)
      ))
    ).pipe(Effect.provide(place.store))
  const parent = { sessionId: "outer-one", runId: "outer-1", callId: "1.0" }
  yield* put("below-one", "below-1", [
    { ...Drafts.started("tides"), agent: "app/Below", parent },
    ...called,
    question,
    Drafts.suspended
  ])
  yield* put("outer-one", "outer-1", [
    Drafts.started("write"),
    ...called,
    Drafts.toolStarted("1.0", { q: "tides" }),
    Drafts.toolPaused("1.0", { sessionId: "below-one", runId: "below-1" }),
    Drafts.suspended
  ])
  const answers = SessionStore.SessionStore.use((store) => Stream.runCollect(store.read("below-one"))).pipe(
    Effect.provide(place.store),
    Effect.map((log: ReadonlyArray<RunEvent.Durable>) => RunLog.only(log, "ApprovalResolved"))
  )
  return { ...place, answers }
})

describe("a question asked below a session", () => {
  it.effect("is listed once, with the session that asks it", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      const lines = (yield* on("approvals", ["--json"])).stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(lines.map(({ id, sessionId }) => [sessionId, id]), [["below-one", "below-1/1.0"]])
    }))

  it.effect("is listed by its whole id when the session that waits for it is named", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      const { stdout } = yield* on("approvals", ["--session", "outer-one"])
      assert.match(stdout, /^outer-one .*\n(.*\n)?\s+below-1\/1\.0 {2}search euros=80 {2}asked /)
    }))

  it.effect("is answered by way of the session that waits for it, which is the one to continue", () =>
    Effect.gen(function*() {
      const { answers, on } = yield* waiting
      const { code, stderr } = yield* on("approve", ["outer-one", "below-1/1.0"])
      assert.strictEqual(code, 0)
      assert.include(stderr, "agent.resumeRun({ sessionId: \"outer-one\" })")
      const [answer] = yield* answers
      assert.deepInclude(answer, { approvalId: "below-1/1.0", approved: true })
      assert.include((yield* on("approvals")).stderr, "Nothing waits for an approval.")
    }))

  it.effect("is answered in the session that asks it, and the one that waits for it is the one to continue", () =>
    Effect.gen(function*() {
      const { answers, on } = yield* waiting
      const { stderr } = yield* on("deny", ["below-one"])
      assert.include(stderr, "agent.resumeRun({ sessionId: \"outer-one\" })")
      assert.strictEqual((yield* answers)[0]?.approved, false)
    }))

  it.effect("is closed once the run that waits for it is aborted", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      assert.strictEqual((yield* on("abort", ["outer-one"])).code, 0)
      const { code, stderr } = yield* on("approve", ["below-one"])
      assert.strictEqual(code, 1)
      assert.include(stderr, "session \"below-one\" has no call that waits for an approval")
      assert.notInclude((yield* on("approvals", [])).stdout, "below-one")
    }))

  it.effect("keeps its session listed as waiting until it is answered", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      const before = (yield* on("sessions")).stdout
      yield* on("approve", ["below-one"])
      const after = (yield* on("sessions")).stdout
      const ofOuter = (text: string) => text.split("\n").find((line) => line.includes("outer-one"))
      assert.notStrictEqual(ofOuter(before), ofOuter(after))
    }))

  it.effect("is mentioned in the log of the session that waits", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      assert.include((yield* on("show", ["outer-one"])).stdout, "waits for what is asked in below-one")
    }))

  it.effect("makes the session that waits for it ask for a decision, then say that there is one", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      assert.match((yield* on("show", ["outer-one"])).stdout, /\nDecide with: .* approve .*outer-one/)
      yield* on("approve", ["below-one"])
      assert.match((yield* on("show", ["outer-one"])).stdout, /\nDecided; go on with it in its program: .*outer-one/)
    }))

  it.effect("makes its own session name the one to continue", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      const { stdout } = yield* on("show", ["below-one"])
      assert.match(stdout, /\nDecide with: .* below-one.*agent\.resumeRun\(\{ sessionId: "outer-one" \}\)/)
    }))

  it.effect("accepts a result only from the program of the agent that asks it", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting
      const { stderr } = yield* on("approve", ["outer-one", "below-1/1.0", "--result", "1"])
      assert.match(stderr, /the tools of the agent "app\/Below"/)
    }))
})
