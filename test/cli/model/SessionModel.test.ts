/** Sessions that used a named model, continued when nobody names one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SessionModel from "../../../src/cli/model/SessionModel.ts"
import * as AgentName from "../../../src/cli/session/AgentName.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as OpenAiServer from "../../support/OpenAiServer.ts"
import * as TestStore from "../../support/TestStore.ts"
import { workplace } from "../Invoke.ts"
import * as Replies from "../Replies.ts"

const limited = Replies.calls(["list_files", { path: "." }])

/** A session whose run with the model `m` was stopped at its turn limit. */
const withSession = Effect.fnUntraced(function*(...replies: ReadonlyArray<OpenAiServer.Reply>) {
  const model = yield* OpenAiServer.make(limited, ...replies)
  const place = yield* workplace({ "a.txt": "a\n" })
  const env = Replies.env(model)
  const { stderr } = yield* place.run(["--model", "m", "--max-turns", "1", "do it"], { env })
  const asked = () => model.requests.map(({ body }) => body.model)
  return { ...place, env, asked, id: /session (\S+)/.exec(stderr)![1]! }
})

const notice = "fiberloop: no model is named, so \"m\" answers, as it did in this session\n"

/** A session whose process died after its first turn with this model began. */
const died = Effect.fnUntraced(function*(store: SessionStore.Store, id: string, name: string) {
  const turn = { ...Drafts.turnStarted(1), model: { provider: "openai-compatible", name } }
  const session = yield* store.open(id, { runId: "run-1", create: true })
  yield* session.append(Drafts.log({ ...Drafts.started("2+2"), agent: AgentName.own }, turn) as never)
}, Effect.scoped)

describe("the model that a session last asked", () => {
  /** Found this many events after the turn that asked `m`. */
  const lastAfter = Effect.fnUntraced(function*(events: number) {
    const { log, service: store } = yield* TestStore.make()
    const turn = { ...Drafts.turnStarted(1), model: { provider: "openai-compatible", name: "m" } }
    const drafts = [Drafts.started("go"), turn, ...Array.from({ length: events }, () => Drafts.notice("more"))]
    yield* Effect.scoped(Effect.flatMap(
      store.open("s", { runId: "run-1", create: true }),
      (session) => session.append(Drafts.log(...drafts) as never)
    ))
    assert.strictEqual((yield* log("s")).length, events + 2)
    return yield* SessionModel.last({ store, info: (yield* store.list())[0]! })
  })

  for (const events of [0, 199, 450]) {
    it.effect(`is found after ${events} more events`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* lastAfter(events))?.name, "m")
      }))
  }

  it.effect("is nothing before its first turn", () =>
    Effect.gen(function*() {
      const { service: store } = yield* TestStore.make()
      yield* Effect.scoped(Effect.flatMap(
        store.open("s", { runId: "run-1", create: true }),
        (session) => session.append(Drafts.log(Drafts.started("go")) as never)
      ))
      assert.isUndefined(yield* SessionModel.last({ store, info: (yield* store.list())[0]! }))
    }))
})

describe("without --model, the session's own model answers", () => {
  it.effect("resume", () =>
    Effect.gen(function*() {
      const { asked, env, id, on } = yield* withSession(Replies.says("Done."))
      const { code, stderr, stdout } = yield* on("resume", [id, "--max-turns", "5"], { env })
      assert.deepStrictEqual([code, stdout, asked()], [0, "Done.\n", ["m", "m"]])
      assert.include(stderr, notice)
    }))

  it.effect("run --session, which says how to continue with it", () =>
    Effect.gen(function*() {
      const { asked, env, id, run } = yield* withSession(limited)
      const { stderr } = yield* run(["--session", id, "--max-turns", "1", "more"], { env })
      assert.deepStrictEqual(asked(), ["m", "m"])
      assert.include(stderr, notice)
      assert.match(stderr, /Go on with: fiberloop run --session \S+ --root \S+ --db \S+ --model m --max-turns 21\n/)
    }))

  it.effect("chat --session", () =>
    Effect.gen(function*() {
      const { asked, env, id, on } = yield* withSession(Replies.says("Hello."))
      const { stderr, stdout } = yield* on("chat", ["--session", id], { env, input: ["hi"] })
      assert.deepStrictEqual([stdout, asked()], ["Hello.\n", ["m", "m"]])
      assert.include(stderr, notice)
      assert.match(stderr, /Come back with: .*--model m\n$/)
    }))

  it.effect("recover, each session with its own", () =>
    Effect.gen(function*() {
      const { asked, env, on, store } = yield* withSession(Replies.says("One."), Replies.says("Two."))
      yield* SessionStore.SessionStore.use((store) =>
        Effect.andThen(died(store, "dead-one", "one"), died(store, "dead-two", "two"))
      ).pipe(Effect.provide(store))
      const { code, stdout } = yield* on("recover", [], { env })
      assert.deepStrictEqual([code, stdout, asked()], [0, "One.\nTwo.\n", ["m", "one", "two"]])
    }))
})

describe("the session's own model", () => {
  it.effect("gives way to a named model, even to the offline one", () =>
    Effect.gen(function*() {
      const { asked, env, id, run } = yield* withSession(Replies.says("Done."))
      yield* run(["--session", id, "--model", "other", "more"], { env })
      assert.deepStrictEqual(asked(), ["m", "other"])
      const { stderr, stdout } = yield* run(["--session", id, "--model", "offline", "2+2"], { env })
      assert.strictEqual(stdout, "2+2 = 4\n")
      assert.notInclude(stderr, "no model is named")
    }))

  it.effect("needs its key, and the refusal says why that model is asked", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stderr } = yield* on("resume", [id, "--max-turns", "5"])
      assert.strictEqual(code, 1)
      assert.match(
        stderr,
        /^fiberloop: the model "m", which answered in this session, needs a key: [^\n]+ give --model offline [^\n]+\n$/
      )
    }))

  it.effect("holds up only its own sessions in recover", () =>
    Effect.gen(function*() {
      const { on, store } = yield* withSession()
      yield* SessionStore.SessionStore.use((store) =>
        Effect.andThen(died(store, "dead-one", "one"), died(store, "dead-two", "two"))
      ).pipe(Effect.provide(store))
      const { code, stderr } = yield* on("recover")
      assert.strictEqual(code, 1)
      assert.match(stderr, /── dead-one [^\n]*\nfiberloop: [^\n]*needs a key[^\n]*\n── dead-two [^\n]*\nfiberloop: /)
    }))

  it.effect("is named by fork and import when they say how to continue", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const fork = yield* on("fork", [id, "--to", "copy"])
      assert.match(fork.stderr, /Go on with: fiberloop run --session copy .* --model m "<task>"\n/)
      assert.match(fork.stderr, /or its run: {2}fiberloop resume copy .* --model m --max-turns <n>\n/)
      const { root } = yield* workplace({ "s.jsonl": (yield* on("export", [id])).stdout })
      const added = yield* on("import", [`${root}/s.jsonl`, "--to", "added"])
      assert.match(added.stderr, /Go on with: fiberloop run --session added .* --model m "<task>"\n/)
    }))
})
