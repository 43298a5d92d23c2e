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
