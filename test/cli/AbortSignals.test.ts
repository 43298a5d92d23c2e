/** Ctrl-C and SIGTERM while the command waits for others: for its provider, for a person. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import * as Child from "./Child.ts"
import * as Replies from "./Replies.ts"
import * as Terminal from "./Terminal.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

/** How the last run in a folder ended, according to `show`. */
const shown = (cwd: string, id: string) => Effect.map(Child.run(["show", id], { cwd }), ({ stdout }) => stdout)

describe("a signal while the command waits", () => {
  it.live("for its provider's answer to begin aborts the run and closes the connection", () =>
    Effect.gen(function*() {
      const server = yield* OpenAiServer.make(OpenAiServer.silence)
      const cwd = yield* sandbox()
      const child = yield* Child.start(["run", "--model", "m", "go"], { cwd, env: Replies.env(server) })
      yield* Deferred.await(server.received)
      child.process.kill("SIGTERM")
      const { code, stderr } = yield* child.ended
      assert.deepStrictEqual([code, server.open()], [143, 0])
      assert.include(yield* shown(cwd, /--session (\S+)/.exec(stderr)![1]!), "aborted")
    }))

  it.live("for its store aborts the run, even if SIGHUP arrives twice", () =>
    Effect.gen(function*() {
      const server = yield* OpenAiServer.make(OpenAiServer.silence)
      const cwd = yield* sandbox()
      const child = yield* Child.start(["run", "--model", "m", "go"], { cwd, env: Replies.env(server) })
      yield* Deferred.await(server.received)
      const store = new DatabaseSync(join(cwd, ".fiberloop/sessions.db"))
      store.exec("BEGIN EXCLUSIVE")
      child.process.kill("SIGHUP")
      yield* child.says("Aborting the run")
      child.process.kill("SIGHUP")
      store.close()
      const { code, stderr } = yield* child.ended
      assert.strictEqual(code, 129)
      assert.include(yield* shown(cwd, /--session (\S+)/.exec(stderr)![1]!), "aborted")
    }))

  it.live("for a person's answer aborts the run, and nothing is done", () =>
    Effect.gen(function*() {
      const server = yield* OpenAiServer.make(Replies.calls(["write_file", { path: "new.txt", content: "x" }]))
      const cwd = yield* sandbox()
      const terminal = yield* Terminal.start(["run", "--model", "m", "go"], { cwd, env: Replies.env(server) })
      yield* terminal.sees("Allow?")
      yield* terminal.type("\x03")
      const { code, screen } = yield* terminal.ended
      assert.strictEqual(code, 130)
      const id = /--session (\S+)/.exec(screen)![1]!
      const log = yield* shown(cwd, id)
      assert.include(log, "aborted")
      assert.include(log, "Not executed: the run was aborted before this call.")
    }))
})

describe("a second Ctrl-C", () => {
  const spinner = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/

  /** The command at a terminal, which cannot end its run, as its store does not answer: Ctrl-C, and Ctrl-C again. */
  const leave = Effect.fnUntraced(function*(
    args: ReadonlyArray<string>,
    begin: (terminal: Terminal.Terminal) => Effect.Effect<void> = () => Effect.void
  ) {
    const server = yield* OpenAiServer.make(OpenAiServer.silence, Replies.says("Done."))
    const options = { cwd: yield* sandbox(), env: Replies.env(server) }
    const terminal = yield* Terminal.start([...args, "--model", "m"], options)
    yield* begin(terminal)
    yield* Deferred.await(server.received)
    const locker = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(join(options.cwd, ".fiberloop/sessions.db"))),
      (database) => Effect.sync(() => database.close())
    )
    locker.exec("BEGIN EXCLUSIVE")
    yield* terminal.type("\x03")
    yield* terminal.sees("press Ctrl-C again to leave at once")
    if (!args.includes("--json")) yield* terminal.sees("thinking")
    yield* terminal.type("\x03")
    const ended = yield* terminal.ended
    locker.exec("ROLLBACK")
    return { ...options, ...ended }
  })

  it.live("leaves no spinner behind and says how to go on with the run, which goes on", () =>
    Effect.gen(function*() {
      const { code, cwd, env, screen } = yield* leave(["run", "go"])
      assert.strictEqual(code, 130)
      assert.notMatch(screen, spinner)
      const [, id] =
        /to leave at once\.\nThe run was left before its end\. Go on with: fiberloop run --session (\S+) --model m$/
          .exec(screen)!
      const on = yield* Child.run(["run", "--session", id!, "--model", "m"], { cwd, env })
      assert.deepStrictEqual([on.code, on.stdout], [0, "Done.\n"])
    }))

  it.live("says how to come back to a conversation", () =>
    Effect.gen(function*() {
      const { code, screen } = yield* leave(["chat"], (chat) => Effect.andThen(chat.sees("›"), chat.type("go\r")))
      assert.strictEqual(code, 130)
      assert.notMatch(screen, spinner)
      assert.match(screen, /left before its end\. Come back with: fiberloop chat --session \S+ --model m$/)
    }))

  it.live("says so beside lines of JSON, too", () =>
    Effect.gen(function*() {
      const { code, screen } = yield* leave(["run", "go", "--json"])
      assert.strictEqual(code, 130)
      assert.match(screen, /left before its end\. Go on with: fiberloop run --session \S+ --model m$/)
    }))
})
