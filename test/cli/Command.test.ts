/** The command as users run it: real processes, signals, pipes, a real socket to a provider that hangs. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { spawnSync } from "node:child_process"
import { chmodSync, closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as FullDisk from "../support/FullDisk.ts"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import * as Child from "./Child.ts"
import { idOf } from "./Invoke.ts"
import * as Replies from "./Replies.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

const text = (lines: number) => "line\n".repeat(lines)

const sessions = (cwd: string) => SessionStoreSqlite.layer({ filename: join(cwd, ".fiberloop/sessions.db") })

/** The log of the only session in a folder's default database. */
const log = (cwd: string): Effect.Effect<ReadonlyArray<RunEvent.Durable>> =>
  Effect.gen(function*() {
    const store = yield* SessionStore.SessionStore
    const list = yield* store.list()
    assert.strictEqual(list.length, 1)
    return yield* Stream.runCollect(store.read(list[0]!.sessionId))
  }).pipe(Effect.provide(sessions(cwd)), Effect.orDie)

describe("fiberloop run", () => {
  it.effect("names the longest files and keeps the session below the current folder", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({
        "src/one.ts": text(30),
        "src/deep/two two.ts": text(50),
        "src/三.ts": text(40),
        "src/four.ts": text(3),
        "five.ts": text(99)
      })
      const { code, stderr, stdout } = yield* Child.run(["run", "which three files under src are the longest?"], {
        cwd
      })
      assert.deepStrictEqual([code, stdout], [
        0,
        "The 3 longest files under src, by lines:\n1. src/deep/two two.ts (50 lines)\n2. src/三.ts (40 lines)\n3. src/one.ts (30 lines)\n"
      ])
      assert.include(stderr, "● list_files")
      const events = yield* log(cwd)
      assert.deepStrictEqual([events[0]?._tag, events.at(-1)?._tag], ["RunStarted", "RunCompleted"])
      assert.isTrue(events.some((event) => event._tag === "ToolSettled"))
      assert.strictEqual(readFileSync(join(cwd, ".fiberloop/.gitignore"), "utf8"), "*\n")
    }))

  it.effect.runIf(process.platform !== "win32")("keeps its files private to its user", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      const { stderr } = yield* Child.run(["run", "2+2"], { cwd })
      yield* Child.run(["run", "2+2", "--db", "own.db"], { cwd })
      yield* Child.run(["export", idOf({ stderr }), "--to", "session.jsonl"], { cwd })
      yield* Child.run(["import", "session.jsonl", "--db", "imported.db"], { cwd })
      const forOthers = (file: string) => statSync(join(cwd, file)).mode & 0o077
      const files = [".fiberloop", ".fiberloop/sessions.db", "own.db", "session.jsonl", "imported.db"]
      assert.deepStrictEqual(files.filter(forOthers), [])
      // the files beside it while it is open
      const beside = Effect.gen(function*() {
        yield* (yield* SessionStore.SessionStore).list()
        return [".fiberloop/sessions.db-wal", ".fiberloop/sessions.db-shm"].filter(forOthers)
      })
      assert.deepStrictEqual(yield* Effect.provide(beside, sessions(cwd)), [])
    }))

  it.effect("leaves the mode of an existing database alone", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      yield* Child.run(["run", "2+2", "--db", "own.db"], { cwd })
      chmodSync(join(cwd, "own.db"), 0o640)
      assert.strictEqual((yield* Child.run(["run", "2+2", "--db", "own.db"], { cwd })).code, 0)
      assert.strictEqual(statSync(join(cwd, "own.db")).mode & 0o777, 0o640)
    }))

  it.effect("with --json prints one line of JSON for each event, the last one RunCompleted", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({ a: text(1) })
      const { code, stdout } = yield* Child.run(["run", "--json", "list files"], { cwd })
      const events = stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual([code, events.at(-1)._tag], [0, "RunCompleted"])
    }))

  it.live("reads the whole task from a pipe when it is given a dash", () =>
    Effect.gen(function*() {
      const model = yield* OpenAiServer.make(Replies.says("Fine."))
      const options = { cwd: yield* sandbox(), env: Replies.env(model), spawn: { stdio: "pipe" as const } }
      const child = yield* Child.start(["run", "--model", "m", "-"], options)
      child.process.stdin?.end("review this:\n\n-a\r\n+ü")
      const { code, stdout } = yield* child.ended
      assert.deepStrictEqual([code, stdout], [0, "Fine.\n"])
      assert.strictEqual(model.requests[0]!.body.messages.at(-1).content, "review this:\n\n-a\n+ü")
    }))

  it.live("refuses piped input that is not a task", () =>
    Effect.gen(function*() {
      const options = { cwd: yield* sandbox(), spawn: { stdio: "pipe" as const } }
      for (
        const [piped, line] of [["", "the task is empty"], ["\xff", "standard input is not UTF-8 text"]] as const
      ) {
        const child = yield* Child.start(["run", "-"], options)
        child.process.stdin?.end(Buffer.from(piped, "latin1"))
        const { code, stderr } = yield* child.ended
        assert.strictEqual(code, 1)
        assert.include(stderr, `fiberloop: ${line}`)
      }
    }))

  it.effect("reports bad input and wrong usage on one line, without a stack trace, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      const [bad, wrong] = yield* Effect.all([
        Child.run(["run", "--root", "nowhere", "list files"], { cwd }),
        Child.run(["run", "--unknown", "x"], { cwd })
      ], { concurrency: 2 })
      assert.deepStrictEqual([bad.code, wrong.code], [1, 2])
      for (const { stderr, stdout } of [bad, wrong]) {
        assert.match(stderr, /^fiberloop: [^\n]+\n$/)
        assert.strictEqual(stdout, "")
      }
      assert.isFalse(existsSync(join(cwd, ".fiberloop")))
    }))

  it.effect("names a folder for sessions that cannot be created", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({ ".fiberloop": "a file in its place" })
      const { code, stderr } = yield* Child.run(["run", "2+2"], { cwd })
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: [^\n]*"\.fiberloop[^\n]*\n$/)
    }))

  it.effect("does not report a removed current folder as a bug of ours", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      const removed = ["-c", "rmdir \"$PWD\" && exec \"$0\" \"$@\"", process.execPath, Child.main, "run", "2+2"]
      const { status, stderr } = spawnSync("sh", removed, { cwd, env: Child.environment, encoding: "utf8" })
      assert.deepStrictEqual(
        [status, stderr],
        [1, "fiberloop: the root folder \".\" does not exist: create it or name another.\n"]
      )
    }))

  it.effect("writes an answer larger than a pipe completely", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({ "a.txt": `${"x".repeat(119)}\n`.repeat(900) })
      const { code, stdout } = yield* Child.run(["run", "show a.txt"], { cwd })
      assert.deepStrictEqual([code, stdout.length], [0, 108_000])
    }))

  it.effect("evaluates a regular expression in its own thread, which ends if the expression does not", () =>
    Effect.gen(function*() {
      const search = (text: string) => Replies.calls(["search_text", { text, regex: true }])
      const server = yield* OpenAiServer.make(search("TO+DO"), search("^(a+)+$"), Replies.says("In a.ts."))
      const cwd = yield* sandbox({ "a.ts": "// TOOODO\n", "b.ts": `${"a".repeat(40)}b\n` })
      const { code, stderr, stdout } = yield* Child.run(["run", "--model", "m", "where?"], {
        cwd,
        env: Replies.env(server)
      })
      assert.deepStrictEqual([code, stdout], [0, "In a.ts.\n"], stderr)
      assert.match(stderr, /● search_text .*✓ 1 line of 1 file/)
      assert.include(server.requests[2]!.body.messages.at(-1).content, "RegexTooSlow")
    }))

  it.effect("ends with code 1 when its output cannot be written, and says what became of a run", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({ a: text(1) })
      const file = yield* Effect.acquireRelease(
        Effect.sync(() => openSync(join(cwd, "a"), "r")),
        (readOnly) => Effect.sync(() => closeSync(readOnly))
      )
      const unwritable: Record<string, string> = {
        "--help": ": send it elsewhere",
        "run 2+2": "; the run completed, and its answer is in: fiberloop show [^ ]+",
        "run --json 2+2":
          ": send it elsewhere\nThe run was left before its end. Go on with: fiberloop run --session [^ ]+"
      }
      for (const [args, what] of Object.entries(unwritable)) {
        const { code, stderr } = yield* Child.run(args.split(" "), { cwd, spawn: { stdio: ["ignore", file, "pipe"] } })
        assert.deepStrictEqual([args, code], [args, 1])
        assert.match(stderr, new RegExp(`fiberloop: standard output cannot be written \\(EBADF\\)${what}\n$`))
      }
    }))

  it.effect("ends quietly when its reader leaves", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({ a: text(1) })
      const child = yield* Child.start(["run", "--json", "list files"], { cwd })
      child.process.stdout?.destroy()
      const { code, stderr } = yield* child.ended
      assert.strictEqual(code, 141)
      assert.match(stderr, /^fiberloop: no model is named[^\n]*\n$/)
    }))
})

describe("a signal", () => {
  const hanging = OpenAiServer.make(OpenAiServer.open(OpenAiServer.data(OpenAiServer.delta({ content: "Once upon" }))))

  /** The command while its provider hangs after its first words. */
  const hung = Effect.gen(function*() {
    const server = yield* hanging
    const cwd = yield* sandbox()
    const env = { OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: "key" }
    const child = yield* Child.start(["run", "--model", "m", "--json", "tell a story"], { cwd, env })
    yield* child.says("Once upon")
    return { child, cwd, server }
  })

  for (const [signal, expected] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    it.effect(`${signal} aborts the run: code ${expected}, an end in the session, the socket closed`, () =>
      Effect.gen(function*() {
        const { child, cwd, server } = yield* hung
        child.process.kill(signal)
        yield* Deferred.await(server.left)
        const { code, stderr, stdout } = yield* child.ended
        assert.strictEqual(code, expected)
        const events = stdout.trimEnd().split("\n").map((line) => JSON.parse(line)) as Array<RunEvent.RunEvent>
        assert.deepStrictEqual(events.at(-1)?._tag, "RunAborted")
        assert.match(stderr, /^Go on with: fiberloop run --session \S+ --model m$/m)
        const end = (yield* log(cwd)).at(-1)
        assert.deepStrictEqual([end?._tag, (end as { reason?: string }).reason], ["RunAborted", "requested"])
      }))
  }

  it.live("fiberloop abort ends a run in another process, and returns once that run has its end", () =>
    Effect.gen(function*() {
      const { child, cwd, server } = yield* hung
      const { sessionId } = JSON.parse((yield* Child.run(["sessions", "--json"], { cwd })).stdout)
      const aborting = yield* Child.run(["abort", sessionId], { cwd })
      assert.deepStrictEqual(
        [aborting.code, aborting.stdout],
        [0, `✓ aborted the run of session ${sessionId}\n`],
        aborting.stderr
      )
      const end = (yield* log(cwd)).at(-1)
      assert.deepStrictEqual([end?._tag, (end as { reason?: string }).reason], ["RunAborted", "requested"])
      yield* Deferred.await(server.left)
      const { code, stdout } = yield* child.ended
      assert.deepStrictEqual([code, JSON.parse(stdout.trimEnd().split("\n").at(-1)!)._tag], [130, "RunAborted"])
    }))

  it.live("is obeyed even when nobody reads the output", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({ "a.txt": `${"x".repeat(350)}\n`.repeat(1_000) })
      const sessionId = idOf(yield* Child.run(["run", "2+2"], { cwd }))
      const child = yield* Child.start(["run", "--session", sessionId, "show a.txt"], { cwd })
      child.process.stdout?.pause()
      // The run ends, and its answer fills the pipe: the process waits for a reader.
      const ends = SessionStore.SessionStore.use((store) =>
        store.watch(sessionId).pipe(
          Stream.filter((event) => event._tag === "RunCompleted"),
          Stream.take(2),
          Stream.runDrain
        )
      )
      yield* Effect.provide(ends, sessions(cwd))
      assert.isNull(child.process.exitCode)
      child.process.kill("SIGINT")
      yield* child.exited
      assert.strictEqual(child.process.exitCode, 130)
    }))

  it.effect("that comes second exits at once, whatever the first still waits for", () =>
    Effect.gen(function*() {
      const { child, cwd } = yield* hung
      const filename = join(cwd, ".fiberloop/sessions.db")
      yield* Effect.scoped(Effect.gen(function*() {
        const locker = yield* Effect.acquireRelease(
          Effect.sync(() => new DatabaseSync(filename)),
          (database) => Effect.sync(() => database.close())
        )
        locker.exec("BEGIN EXCLUSIVE")
        child.process.kill("SIGINT")
        yield* child.says("press Ctrl-C again to leave at once")
        child.process.kill("SIGINT")
        assert.strictEqual((yield* child.ended).code, 130)
      }))
      assert.strictEqual((yield* log(cwd)).at(-1)?._tag, "TurnStarted")
    }))
})

describe("the entry", () => {
  it("can be started by every env, also by that of BusyBox, which takes no flags of Node", () => {
    assert.strictEqual(readFileSync(Child.main, "utf8").split("\n")[0], "#!/usr/bin/env node")
  })

  it.effect.runIf(process.platform !== "win32")(
    "is a program that does not warn about SQLite",
    () =>
      Effect.gen(function*() {
        chmodSync(Child.main, 0o755)
        const env = { ...Child.environment, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` }
        const options = { cwd: yield* sandbox(), env, encoding: "utf8" } as const
        const { status, stderr, stdout } = spawnSync(Child.main, ["run", "--model", "offline", "2+2"], options)
        assert.deepStrictEqual([status, stdout], [0, "2+2 = 4\n"], stderr)
        assert.match(stderr, /^● calculate [^\n]*\n✓ completed [^\n]*\n$/)
      })
  )

  it.effect("does not show that something is experimental to Node, and leaves all other warnings alone", () =>
    Effect.gen(function*() {
      const late = "const { exit } = process; process.exit = (code) => { " +
        "process.emitWarning(`new`, `ExperimentalWarning`); process.emitWarning(`late`); process.nextTick(exit, code) }"
      const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(late)}` }
      const { code, stderr } = yield* Child.run(["--version"], { cwd: yield* sandbox(), env })
      assert.deepStrictEqual([code, stderr.match(/\w*Warning: \w+/g)], [0, ["Warning: late"]])
    }))

  it.effect.skipIf(!FullDisk.canLimit)(
    "fails where a file takes only a part of what it prints",
    () =>
      Effect.gen(function*() {
        const cwd = yield* sandbox()
        const part = yield* Effect.acquireRelease(
          Effect.sync(() => openSync(join(cwd, "part.txt"), "w")),
          (file) => Effect.sync(() => closeSync(file))
        )
        const { status, stderr } = spawnSync("prlimit", ["--fsize=1000", process.execPath, Child.main, "--help"], {
          cwd,
          env: Child.environment,
          stdio: ["ignore", part, "pipe"],
          encoding: "utf8"
        })
        const line = "standard output cannot be written (it is too large for the file system): send it elsewhere"
        assert.deepStrictEqual([status, stderr], [1, `fiberloop: ${line}\n`])
      })
  )

  it.effect("prints the version of the package", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* Child.run(["--version"], { cwd: yield* sandbox() })
      const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"))
      assert.deepStrictEqual([code, stdout], [0, `fiberloop v${version}\n`])
    }))
})
