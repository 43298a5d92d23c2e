/** Conversations shortened by hand and automatically, and what is left of them, in this process. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import * as Transcript from "../../src/run/Transcript.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Drafts from "../support/Drafts.ts"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import { withSession, workplace } from "./Invoke.ts"
import * as Replies from "./Replies.ts"

const lines = (n: number) => Array.from({ length: n }, (_, i) => `line ${i} of the file that is read\n`).join("")

/** A workplace with a session "s" in which these messages were sent to a model that gives these replies. */
const talked = Effect.fnUntraced(function*(
  inputs: ReadonlyArray<string>,
  ...replies: ReadonlyArray<OpenAiServer.Reply>
) {
  const server = yield* OpenAiServer.make(...replies)
  const place = yield* workplace({ "a.txt": lines(200), "b.txt": lines(200), "AGENTS.md": "Be kind." })
  const options = { env: { ...Replies.env(server), FIBERLOOP_MODEL: "m" } }
  const asked = inputs[0] === undefined ? undefined : yield* place.run([inputs[0]], options)
  const id = /session (\S+)/.exec(asked?.stderr ?? "")?.[1] ?? ""
  for (const input of inputs.slice(1)) yield* place.run(["--session", id, input], options)
  const log = SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(id))).pipe(
    Effect.provide(place.store)
  )
  return {
    ...place,
    id,
    log,
    server,
    say: (input: string, flags: ReadonlyArray<string> = []) => place.run(["--session", id, ...flags, input], options),
    compact: (...flags: ReadonlyArray<string>) => place.on("compact", [id, "--root", place.root, ...flags], options),
    context: (...flags: ReadonlyArray<string>) => place.on("show", [id, "--context", "--root", place.root, ...flags])
  }
})

const long = "what was said and what came of it, ".repeat(12)
const chat = ["my canary is yellow", "and the cat is grey", "go on"]
const answers = [Replies.says(long), Replies.says(long), Replies.says("Well.")]
const sumsUp = Replies.says("There is a yellow canary.")

const read = (path: string) => Replies.calls(["read_file", { path }])
const reads = [read("a.txt"), read("b.txt"), Replies.says("Read.")]

const bodyOf = (server: OpenAiServer.Server, at: number): string => JSON.stringify(server.requests.at(at)!.body)

describe("fiberloop compact", () => {
  it.effect("has the session's model sum up, says so and how to continue, and the next request has the summary", () =>
    Effect.gen(function*() {
      const { compact, id, log, root, say, server } = yield* talked(chat, ...answers, sumsUp, Replies.says("Yellow."))
      const { code, stderr, stdout } = yield* compact()
      assert.strictEqual(code, 0)
      assert.match(
        stdout,
        /^✓ the conversation was shortened from 6 to 3 messages, about \d+ to \d+ tokens\n {2}by the strategy "summary"\n$/
      )
      assert.match(stderr, new RegExp(`^See it with: fiberloop show ${id} --context --db \\S+\n`))
      assert.include(stderr, `\nGo on with:  fiberloop chat --session ${id} --root ${root} --db `)
      yield* say("which colour?")
      assert.include(bodyOf(server, -1), "There is a yellow canary.")
      assert.notInclude(bodyOf(server, -1), "what was said and what came of it")
      assert.deepStrictEqual(RunLog.violations(yield* log), [])
    }))

  it.effect("first drops old tool output without asking a model, and sums up when asked again", () =>
    Effect.gen(function*() {
      const { compact, server } = yield* talked(["read both"], ...reads, sumsUp)
      const first = yield* compact()
      assert.match(first.stdout, /, all 6 messages stay, about \d+ to \d+ tokens\n {2}by the strategy "pruning"\n$/)
      assert.strictEqual(server.requests.length, 3)
      const second = yield* compact()
      assert.include(second.stdout, "\n  by the strategy \"summary\"\n")
      assert.strictEqual(server.requests.length, 4)
    }))

  it.effect("--json is one line of JSON", () =>
    Effect.gen(function*() {
      const { compact, id } = yield* talked(chat, ...answers, sumsUp)
      const { stdout } = yield* compact("--json")
      const { messages, sessionId, strategy, tokens } = JSON.parse(stdout)
      assert.strictEqual(stdout.split("\n").length, 2)
      assert.deepStrictEqual([sessionId, strategy, messages], [id, "summary", { before: 6, after: 3 }])
      assert.isBelow(tokens.after, tokens.before)
    }))

  it.effect("leaves out the oldest messages with the offline model", () =>
    Effect.gen(function*() {
      const { id, on, run } = yield* withSession()
      yield* run(["--session", id, "3*3"])
      assert.match((yield* on("compact", [id])).stdout, /from 8 to 5 messages, .*\n {2}by the strategy "window"\n$/)
    }))

  it.effect("says why nothing can be left out, and changes nothing", () =>
    Effect.gen(function*() {
      const { compact, id, log } = yield* talked(["hi"], Replies.says("Hello."))
      const before = yield* log
      const { code, stderr, stdout } = yield* compact()
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.strictEqual(
        stderr,
        `fiberloop: session "${id}" was not changed: nothing can be left out: the conversation is already as short as its ` +
          "latest message allows\n"
      )
      assert.deepStrictEqual(yield* log, before)
    }))

  it.effect("reports what the model said when it fails, and changes nothing", () =>
    Effect.gen(function*() {
      const broken = OpenAiServer.status(401, { error: { message: "wrong key" } })
      const { compact, id, log } = yield* talked(chat, ...answers, broken)
      const before = yield* log
      const { code, stderr } = yield* compact()
      assert.strictEqual(code, 1)
      assert.match(
        stderr,
        new RegExp(`^fiberloop: session "${id}" was not changed: the summary could not be made by [^\n]+\n$`)
      )
      assert.deepStrictEqual(yield* log, before)
    }))

  it.effect("names the run that keeps the session busy", () =>
    Effect.gen(function*() {
      const { compact, id, log, run } = yield* talked(chat, ...answers)
      const hanging = yield* OpenAiServer.make(OpenAiServer.open())
      const env = { ...Replies.env(hanging), FIBERLOOP_MODEL: "m" }
      const running = yield* Effect.forkChild(run(["--session", id, "go on"], { env }))
      yield* Deferred.await(hanging.received)
      const { code, stderr } = yield* compact()
      const { runId } = (yield* log).at(-1)!
      yield* Fiber.interrupt(running)
      assert.strictEqual(code, 1)
      assert.include(stderr, `session "${id}" is busy with the run ${runId}, which manages its own context`)
    }))

  it.effect("stops at a signal, with the session unchanged", () =>
    Effect.gen(function*() {
      const { id, log, on, root } = yield* talked(chat, ...answers)
      const hanging = yield* OpenAiServer.make(OpenAiServer.open())
      const before = yield* log
      const { code } = yield* on("compact", [id, "--root", root], {
        env: { ...Replies.env(hanging), FIBERLOOP_MODEL: "m" },
        signals: { first: Effect.as(Deferred.await(hanging.received), "SIGINT" as const), forget: Effect.void }
      })
      yield* Deferred.await(hanging.left)
      assert.strictEqual(code, 130)
      assert.deepStrictEqual(yield* log, before)
    }))

  it.effect("says which sessions do not exist", () =>
    Effect.gen(function*() {
      const { on } = yield* talked(["hi"], Replies.says("Hello."))
      const { code, stderr } = yield* on("compact", ["nosuchsession"])
      assert.strictEqual(code, 1)
      assert.include(stderr, `there is no session "nosuchsession" in this database`)
    }))
})

describe("with --context-window", () => {
  it.effect("a run compacts what would not fit before it asks the model, and says so", () =>
    Effect.gen(function*() {
      const { log, say, server } = yield* talked(["read both"], ...reads, Replies.says("Hello."))
      const { code, stderr } = yield* say("hello", ["--context-window", "6000"])
      assert.strictEqual(code, 0)
      assert.match(
        stderr,
        /↻ the conversation was shortened, all 7 messages stay, about \d+ to \d+ tokens\n {2}by the strategy "pruning" · it/
      )
      assert.include(bodyOf(server, -1), "of this output were left out to save room")
      assert.deepStrictEqual(RunLog.only(yield* log, "ContextCompacted").map(({ cause }) => cause), ["window"])
    }))

  it.effect("may come from the environment, and a value that is not a number is refused under either name", () =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      const flags = ["2+2", "--context-window", "0"]
      const typed = yield* on("run", flags)
      const set = yield* on("run", ["2+2"], { env: { FIBERLOOP_CONTEXT_WINDOW: "lots" } })
      assert.deepStrictEqual([typed.code, set.code], [2, 2])
      const name = "--context-window (FIBERLOOP_CONTEXT_WINDOW)"
      assert.include(typed.stderr, `${name} takes a whole number of at least 1, not "0"`)
      assert.include(set.stderr, `${name} takes a whole number of at least 1, not "lots"`)
    }))
})

describe("fiberloop show --context", () => {
  it.effect("--json is what the model would be sent now, each message with its tokens", () =>
    Effect.gen(function*() {
      const { compact, context, id, log } = yield* talked(chat, ...answers, sumsUp)
      yield* compact()
      const { code, stdout } = yield* context("--json", "--context-window", "8000")
      const { contextWindow, instructions, memory, messages, model, sessionId, tokens, tools } = JSON.parse(stdout)
      assert.deepStrictEqual([code, sessionId, contextWindow], [0, id, 8_000])
      assert.deepStrictEqual(model, { provider: "openai-compatible", name: "m" })
      assert.deepStrictEqual(messages, Transcript.messages(Transcript.fromLog(yield* log), model))
      assert.include(memory.text, "There is a yellow canary.")
      assert.match(instructions, /\nBe kind\.$/)
      assert.includeMembers(tools, ["read_file", "write_file", "run_command"])
      const sum = tokens.messages.reduce((sum: number, one: number) => sum + one, tokens.instructions + tokens.tools)
      assert.deepStrictEqual([tokens.messages.length, tokens.total], [messages.length, sum])
    }))

  it.effect("shows it to people, with what is remembered and how much of the window it takes up", () =>
    Effect.gen(function*() {
      const { compact, context, id } = yield* talked(chat, ...answers, sumsUp)
      yield* compact()
      const { stdout } = yield* context("--context-window", "8000")
      assert.match(stdout, /^── instructions · \d+ tokens\nYou help with the files below one folder/)
      assert.match(stdout, /\n── tools · \d+ tokens\nlist_files\n/)
      assert.include(
        stdout,
        `
· what is remembered of what was left out:
    Summary of the conversation so far:
    There is a yellow canary.
go on
`
      )
      const last = new RegExp(
        `\n── session ${id} · 2 messages · about \\d+ of 8000 tokens \\(\\d+ %\\) · for openai-compatible/m\n$`
      )
      assert.match(stdout, last)
    }))

  it.effect("shows what the model reads in place of output that was left out", () =>
    Effect.gen(function*() {
      const { compact, context } = yield* talked(["read both"], ...reads)
      assert.notInclude((yield* context()).stdout, "were left out")
      yield* compact()
      const { stdout } = yield* context()
      assert.match(
        stdout,
        /\n● read_file path="a.txt"\n\n── tool · \d+ tokens\n← read_file\n {4}\(\d+ characters of this output were left/
      )
    }))

  it.effect("counts what a provider refused as too much, of which the run keeps a fifth of the window free", () =>
    Effect.gen(function*() {
      const { on, store } = yield* workplace()
      const log = Drafts.log(
        { ...Drafts.started("hello"), agent: "app/Support" },
        { ...Drafts.turnStarted(1), size: 400 },
        { ...Drafts.discarded(1, 1), error: { _tag: "ContextOverflow", message: "too much" } },
        Drafts.aborted
      )
      yield* SessionStore.SessionStore.use((store) =>
        Effect.scoped(Effect.flatMap(
          store.open("full", { runId: "run-1", create: true }),
          (session) => session.append(log)
        ))
      ).pipe(Effect.provide(store))
      const total = (...flags: ReadonlyArray<string>) =>
        Effect.map(
          on("show", ["full", "--context", "--json", ...flags]),
          ({ stdout }) => JSON.parse(stdout).tokens.total
        )
      // 400 as counted are 800 here, which is all that is sent of 1,000
      assert.strictEqual(yield* total("--context-window", "1000"), 2 * (yield* total()))
    }))

  it.effect("does not take the session, so that a run may continue meanwhile", () =>
    Effect.gen(function*() {
      const { context, id, log, run } = yield* talked(chat, ...answers)
      const hanging = yield* OpenAiServer.make(OpenAiServer.open())
      const env = { ...Replies.env(hanging), FIBERLOOP_MODEL: "m" }
      const running = yield* Effect.forkChild(run(["--session", id, "and now?"], { env }))
      yield* Deferred.await(hanging.received)
      const before = yield* log
      const { code, stdout } = yield* context()
      assert.deepStrictEqual([code, yield* log], [0, before])
      assert.match(stdout, /\n── user · \d+ tokens\nand now\?\n/)
      yield* Fiber.interrupt(running)
    }))
})
