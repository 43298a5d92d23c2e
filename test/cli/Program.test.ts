/** The whole command in this process: what it refuses, in which words, with which code. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { idOf, type Invocation, invoke, workplace } from "./Invoke.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

/** The one line of a refusal, with folder and database unless the arguments name them. */
const refusal = (args: ReadonlyArray<string>, options?: Invocation) =>
  Effect.gen(function*() {
    const { db, root } = yield* workplace()
    const place = { "--root": root, "--db": db }
    const more = Object.entries(place).filter(([flag]) => !args.includes(flag)).flat()
    const { code, stderr, stdout } = yield* invoke(["run", ...more, ...args], options)
    assert.match(stderr, /^fiberloop: [^\n]+\n$/)
    assert.notMatch(stderr, / {4}at /)
    assert.strictEqual(stdout, "")
    return [code, stderr.slice("fiberloop: ".length, -1)] as const
  })

const refusals: Record<string, readonly [args: ReadonlyArray<string>, code: number, line: string]> = {
  "an empty task": [[""], 1, "the task is empty: say what to do"],
  "a blank task": [[" \n"], 1, "the task is empty"],
  "no task": [[], 2, "the task is missing: fiberloop run \"<task>\""],
  "a task without quotes": [["list", "files"], 2, "put it in quotes: \"files\" is left over"],
  "an unknown flag": [["--jsn", "x"], 2, "there is no flag --jsn, did you mean --json?"],
  "an unknown letter": [["x", "-z"], 2, "there is no flag -z (see fiberloop run --help)"],
  "a flag given twice": [["x", "--model", "a", "--model", "b"], 2, "--model is given 2 times, but takes one value"],
  "a flag without its value": [["x", "--max-turns"], 2, "missing value for flag --max-turns"],
  "--max-turns 0": [["x", "--max-turns", "0"], 2, "--max-turns takes a whole number of at least 1, not \"0\""],
  "--max-turns abc": [["x", "--max-turns", "abc"], 2, "--max-turns takes a whole number of at least 1, not \"abc\""],
  "--max-turns -1": [["x", "--max-turns", "-1"], 2, "--max-turns takes a whole number of at least 1, not \"-1\""],
  "--max-turns 1.5": [["x", "--max-turns", "1.5"], 2, "--max-turns takes a whole number of at least 1, not \"1.5\""],
  "--max-turns 1000000000": [["x", "--max-turns", "1000000000"], 2, "--max-turns takes at most 999999999"],
  "--context-window 1e9": [
    ["x", "--context-window", "1e9"],
    2,
    "--context-window (FIBERLOOP_CONTEXT_WINDOW) takes a whole number of at least 1, not \"1e9\""
  ],
  "a database in memory": [["x", "--db", ":memory:"], 2, "no other could go on with them: name a file"],
  "an empty session id": [["x", "--session", ""], 2, "--session is empty"],
  "a blank session id": [["x", "--session", "  "], 2, "--session is empty"],
  "an empty model": [["x", "--model", ""], 2, "--model is empty"],
  "an empty root": [["x", "--root", ""], 2, "--root is empty"],
  "an empty database": [["x", "--db", ""], 2, "--db is empty"],
  "another database's address": [
    ["x", "--db", "mysql://h/x"],
    2,
    "a URL that begins with postgres://, not with mysql://"
  ],
  "a model without a key": [["x", "--model", "gpt"], 1, "the model \"gpt\" needs a key: set OPENAI_API_KEY"]
}

describe("the command refuses", () => {
  for (const [what, [args, code, line]] of Object.entries(refusals)) {
    it.effect(`${what} with code ${code}`, () =>
      Effect.gen(function*() {
        const [actual, said] = yield* refusal(args)
        assert.strictEqual(actual, code)
        assert.include(said, line)
      }))
  }

  it.effect("a root folder that does not exist or is a file", () =>
    Effect.gen(function*() {
      const folder = yield* sandbox({ file: "" })
      const missing = yield* refusal(["x", "--root", join(folder, "nowhere")])
      const file = yield* refusal(["x", "--root", join(folder, "file")])
      assert.deepStrictEqual([missing[0], file[0]], [1, 1])
      assert.include(missing[1], `the root folder "${join(folder, "nowhere")}" does not exist`)
      assert.include(file[1], `the root folder "${join(folder, "file")}" is not a folder`)
    }))

  it.effect("a database that is a folder, not a database, or in a missing folder", () =>
    Effect.gen(function*() {
      const folder = yield* sandbox({ "not.db": "this is a text, and a long enough one for a database header" })
      const lines = yield* Effect.forEach(
        [".", "not.db", "nowhere/x.db"],
        (db) => refusal(["x", "--db", join(folder, db)])
      )
      assert.deepStrictEqual(lines.map(([code]) => code), [1, 1, 1])
      assert.include(lines[0]![1], "is a folder")
      assert.include(lines[1]![1], "is not a SQLite database")
      assert.include(lines[2]![1], "does not exist")
    }))

  it.effect("a session that is not in the database, and creates no database for it", () =>
    Effect.gen(function*() {
      const { db, run } = yield* workplace()
      const first = yield* run(["2+2", "--session", "nope"])
      assert.strictEqual(first.code, 1)
      assert.include(first.stderr, `there is no session "nope", because there is no database`)
      yield* run(["2+2"])
      const second = yield* run(["2+2", "--session", "nope"])
      assert.deepStrictEqual([second.code, second.stdout], [1, ""])
      assert.match(second.stderr, /^fiberloop: there is no session "nope" in this database[^\n]*\n$/)
      assert.deepStrictEqual(readdirSync(join(db, "..")).filter((name) => name.startsWith(".")), [])
    }))

  it.effect("a session that is busy, naming the run that keeps it busy", () =>
    Effect.gen(function*() {
      const { run, store } = yield* workplace()
      yield* run(["2+2"])
      yield* Effect.gen(function*() {
        const sessions = yield* SessionStore.SessionStore
        const [{ sessionId }] = (yield* sessions.list()) as [SessionStore.SessionInfo]
        yield* sessions.open(sessionId, { runId: "other", create: false })
        const { code, stderr } = yield* run(["2+2", "--session", sessionId])
        assert.strictEqual(code, 1)
        assert.match(stderr, /^fiberloop: session "[^"]+" is busy with the run other: wait[^\n]*\n$/)
      }).pipe(Effect.scoped, Effect.provide(store))
    }))

  it.effect("an id that no session can have", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      yield* run(["2+2"])
      const { code, stderr } = yield* run(["2+2", "--session", "a\nb"])
      assert.strictEqual(code, 1)
      assert.include(stderr, "there is no session \"a\\nb\" in this database")
    }))

  it.effect("an unknown command", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* invoke(["hello"])
      assert.deepStrictEqual([code, stderr], [
        2,
        "fiberloop: there is no command \"hello\": fiberloop run \"<task>\" (see fiberloop --help)\n"
      ])
    }))

  it.effect("a mistyped command, suggesting the one that was meant", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* invoke(["sohw"])
      assert.deepStrictEqual(
        [code, stderr],
        [2, "fiberloop: there is no command \"sohw\", did you mean show? (see fiberloop --help)\n"]
      )
    }))

  it.effect("help on an unknown command", () =>
    Effect.gen(function*() {
      for (const line of ["help sohw", "sohw --help", "sohw -h", "sohw --help=true", "--help sohw", "help sohw -h"]) {
        const { code, stderr, stdout } = yield* invoke(line.split(" "))
        assert.deepStrictEqual(
          [code, stderr, stdout],
          [2, "fiberloop: there is no command \"sohw\", did you mean show? (see fiberloop --help)\n", ""]
        )
      }
    }))

  it.effect("a flag before its command, and says where flags belong", () =>
    Effect.gen(function*() {
      for (
        const args of [["--no-color", "sessions"], ["--db", "x.db", "sessions"], ["--db=x.db", "run", "2+2"], ["-x"]]
      ) {
        const { code, stderr } = yield* invoke(args)
        assert.strictEqual(code, 2)
        const flag = args[0]!.split("=")[0]
        assert.include(stderr, `fiberloop: there is no flag ${flag} before a command: put its flags after it (`)
      }
    }))

  it.effect("an unknown letter flag after its command, even among others", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* invoke(["run", "-xyz", "2+2"])
      assert.deepStrictEqual([code, stderr], [2, "fiberloop: there is no flag -x (see fiberloop run --help)\n"])
    }))

  it.effect("an API address that is not a URL", () =>
    Effect.gen(function*() {
      const [code, line] = yield* refusal(["x", "--model", "m"], { env: { OPENAI_BASE_URL: "localhost" } })
      assert.strictEqual(code, 1)
      assert.include(line, "OPENAI_BASE_URL is not an http(s) URL")
    }))
})

describe("the command", () => {
  it.effect("answers on standard output, and says everything else on standard error", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace({ "a.ts": "1\n2\n" })
      const { code, stderr, stdout } = yield* run(["what is the longest file?"])
      assert.deepStrictEqual([code, stdout], [0, "The longest file is a.ts with 2 lines.\n"])
      const [notice, tool, end, ...more] = stderr.split("\n")
      assert.match(notice!, /^fiberloop: no model is named, so the built-in offline model answers/)
      assert.match(tool!, /^● list_files sort="lines" order="desc" limit=11 {2}✓ 1 file {2}\d+ ms$/)
      assert.match(end!, /^✓ completed · 2 turns · 1 tool call · \d+ ms · session [0-9a-f-]{36}$/)
      assert.deepStrictEqual(more, [""])
    }))

  it.effect("keeps the run in the session, and continues it", () =>
    Effect.gen(function*() {
      const { run, store } = yield* workplace()
      const first = yield* run(["2+2"])
      const sessionId = idOf(first)
      const second = yield* run(["3+3", "--session", sessionId])
      assert.strictEqual(second.stdout, "3+3 = 6\n")
      const info = yield* SessionStore.SessionStore.use((_) => _.info(sessionId)).pipe(Effect.provide(store))
      assert.deepStrictEqual([info?.title, info?.turns, info?.end], ["2+2", 4, "RunCompleted"])
    }))

  it.effect("continues an unfinished run when given no task", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      const first = yield* run(["2+2", "--max-turns", "1"])
      assert.strictEqual(first.code, 1)
      const goOn = /Go on with: fiberloop run (.*)\n/.exec(first.stderr)![1]!
      const second = yield* invoke(["run", ...goOn.split(" ")])
      assert.deepStrictEqual([second.code, second.stdout], [0, "2+2 = 4\n"])
    }))

  it.effect("ends with 1 if the offline model does not understand, says so on one line, and leaves a session", () =>
    Effect.gen(function*() {
      const { run, store } = yield* workplace()
      for (const flags of [[], ["--json"]]) {
        const { code, stderr } = yield* run(["write a poem", ...flags])
        assert.strictEqual(code, 1)
        assert.strictEqual(stderr.split("\n").filter((line) => line.includes("does not understand")).length, 1)
      }
      const sessions = yield* SessionStore.SessionStore.use((_) => _.list()).pipe(Effect.provide(store))
      assert.deepStrictEqual(sessions.map(({ end, title }) => [title, end]), [
        ["write a poem", "RunFailed"],
        ["write a poem", "RunFailed"]
      ])
    }))

  it.effect("prints every event as a line of JSON, and nothing else, on standard output", () =>
    Effect.gen(function*() {
      const { run, store } = yield* workplace({ a: "1" })
      const { code, stderr, stdout } = yield* run(["list files", "--json"])
      const events = stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual([code, events[0]._tag, events.at(-1)._tag], [0, "RunStarted", "RunCompleted"])
      assert.isTrue(events.some((event) => event._tag === "TextDelta"))
      const [info] = yield* SessionStore.SessionStore.use((_) => _.list()).pipe(Effect.provide(store))
      const { sessionId } = info!
      const log = yield* SessionStore.SessionStore.use((_) => Stream.runCollect(_.read(sessionId))).pipe(
        Effect.provide(store)
      )
      assert.deepStrictEqual(
        events.filter((event) => "seq" in event),
        JSON.parse(JSON.stringify(log.map((event) => ({ sessionId, ...event }))))
      )
      assert.match(stderr, new RegExp(`^fiberloop: no model is named.*\n✓ completed · .* · session ${sessionId}\n$`))
    }))

  it.effect("takes the model from the environment, and then does not say that no model is named", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      const offline = yield* run(["2+2"], { env: { FIBERLOOP_MODEL: "offline" } })
      assert.notInclude(offline.stderr, "no model is named")
      const named = yield* run(["2+2"], { env: { FIBERLOOP_MODEL: "gpt" } })
      assert.include(named.stderr, "the model \"gpt\" needs a key")
      const blank = yield* run(["2+2"], { env: { FIBERLOOP_MODEL: " " } })
      assert.include(blank.stderr, "no model is named")
    }))

  it.effect("points to the offline model when the key for the environment's model is missing", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      const env = { FIBERLOOP_MODEL: "gpt" }
      assert.include((yield* run(["2+2"], { env })).stderr, ", or give --model offline for the offline model\n")
      assert.strictEqual((yield* run(["--model", "offline", "2+2"], { env })).stdout, "2+2 = 4\n")
    }))

  it.effect("accepts a task that begins with a minus", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      assert.strictEqual((yield* run(["-5 + 3"])).stdout, "-5 + 3 = -2\n")
      assert.strictEqual((yield* run(["--", "-(2)^2"])).stdout, "-(2)^2 = -4\n")
      assert.strictEqual((yield* run(["--yes", "-5 + 3"])).stdout, "-5 + 3 = -2\n")
      assert.strictEqual((yield* run(["--model", "offline", "-5 + 3", "--"])).stdout, "-5 + 3 = -2\n")
      assert.strictEqual((yield* run(["- 2+2"])).stdout, "- 2+2 = 0\n")
    }))

  it.effect("colours a terminal, unless told not to", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      const isColoured = (args: ReadonlyArray<string>, env: Record<string, string>, isTerminal = true) =>
        Effect.map(run(["2+2", ...args], { env, isTerminal }), (_) => _.tape.includes("\u001b"))
      assert.isTrue(yield* isColoured([], {}))
      assert.isTrue(yield* isColoured([], { NO_COLOR: "" }))
      assert.isFalse(yield* isColoured(["--no-color"], {}))
      assert.isFalse(yield* isColoured([], { NO_COLOR: "1" }))
      assert.isFalse(yield* isColoured([], { TERM: "dumb" }))
      assert.isFalse(yield* isColoured([], {}, false))
    }))

  it.effect("shows file names on a terminal without their control characters", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace({ "\u001b]0;x\u0007.md": "\u001b[2J TODO" })
      for (const task of ["list files", "find TODO"]) {
        const { tape } = yield* run([task, "--no-color"], { isTerminal: true })
        assert.notInclude(tape, "\u001b")
        assert.notInclude(tape, "\u0007")
      }
    }))

  it.effect("stops quietly when nobody reads its output any more", () =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      const { code, stderr } = yield* run(["2+2", "--json"], { closesAt: 1 })
      assert.strictEqual(code, 141)
      assert.match(stderr, /^fiberloop: no model is named[^\n]*\n$/)
    }))

  it.effect("leaves no trace if it is stopped before the run began", () =>
    Effect.gen(function*() {
      const { db, run } = yield* workplace()
      const { code, stderr } = yield* run(["2+2"], { signal: "SIGTERM" })
      assert.deepStrictEqual([code, stderr], [143, "fiberloop: aborted before the run began\n"])
      assert.notInclude(readdirSync(join(db, "..")), "sessions.db")
    }))

  it.effect("prints its help, with examples and what the offline model understands", () =>
    Effect.gen(function*() {
      for (const args of [["--help"], ["run", "--help"], ["run", "-h"], []]) {
        const { code, stderr, stdout } = yield* invoke(args)
        assert.deepStrictEqual([code, stderr], [0, ""])
        for (const words of ["EXAMPLES", "fiberloop run --session", "17% of 230", "EXIT CODES", "OPENAI_API_KEY"]) {
          assert.include(stdout, words)
        }
      }
    }))

  it.effect("says in its help who answers where there is no terminal", () =>
    Effect.gen(function*() {
      for (const command of ["run", "chat", "resume"]) {
        const { stdout } = yield* invoke([command, "--help"])
        assert.include(
          stdout.replaceAll(/\s+/g, " "),
          "Without a terminal the answer is no; only a run that waited for answers leaves questions open when it is resumed."
        )
      }
    }))

  it.effect("says how a run goes on after its terminal closes", () =>
    Effect.gen(function*() {
      const { stdout } = yield* invoke(["run", "--help"])
      assert.include(stdout, "\nIN THE BACKGROUND\n  setsid -f fiberloop run ")
    }))

  it.effect("has no line of help wider than 120 characters", () =>
    Effect.gen(function*() {
      const { stdout: all } = yield* invoke([])
      const commands = [...all.split("SUBCOMMANDS")[1]!.split("EXAMPLES")[0]!.matchAll(/^ {2}(\w+)/gm)]
      for (const [, command] of commands) {
        const { stdout } = yield* invoke([command!, "--help"])
        assert.deepStrictEqual(stdout.split("\n").filter((line) => line.length > 120), [])
      }
    }))

  it.effect("shows help on a command when help is used as a command, too", () =>
    Effect.gen(function*() {
      const all = ["help", "help help", "help --help"]
      const ofShow = ["help show", "help help show", "help show -h", "--help show"]
      for (const [line, of] of [...all.map((line) => [line]), ...ofShow.map((line) => [line, "show"])]) {
        const { code, stdout } = yield* invoke(line!.split(" "))
        const { stdout: told } = yield* invoke(of === undefined ? ["--help"] : [of, "--help"])
        assert.deepStrictEqual([code, stdout], [0, told])
      }
    }))

  it.effect("ends with the code for closed output if help or version cannot be written", () =>
    Effect.gen(function*() {
      for (const args of [["--help"], ["show", "--help"], ["--version"], ["--completions", "bash"]]) {
        const { code, stderr } = yield* invoke(args, { closesAt: 0 })
        assert.deepStrictEqual([args, code, stderr], [args, 141, ""])
      }
    }))

  it.effect("prints its version", () =>
    Effect.gen(function*() {
      for (const flag of ["--version", "-v"]) assert.strictEqual((yield* invoke([flag])).stdout, "fiberloop v1.2.3\n")
    }))
})
