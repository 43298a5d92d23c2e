/** The commands that look at kept sessions: in this process on real databases, and as processes if that matters. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { begunFor, started } from "../../src/testing/sessions/Fixtures.ts"
import * as Child from "./Child.ts"
import { idOf, invoke, withSession, workplace } from "./Invoke.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

const logOf = (id: string) => SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(id)))

const commands = ["sessions", "show", "resume", "compact", "fork", "export", "import"]

describe("without a database", () => {
  it.effect("sessions says that there are none, and how to start one", () =>
    Effect.gen(function*() {
      const { db, on } = yield* workplace()
      const { code, stderr, stdout } = yield* on("sessions")
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.strictEqual(
        stderr,
        `fiberloop: there are no sessions yet in "${db}": fiberloop run --db ${db} "<task>" begins one\n`
      )
    }))

  it.effect("sessions says which folder does not exist", () =>
    Effect.gen(function*() {
      const folder = join(yield* sandbox(), "gone")
      const { code, stderr } = yield* invoke(["sessions", "--db", join(folder, "sessions.db")])
      assert.deepStrictEqual(
        [code, stderr],
        [0, `fiberloop: there are no sessions in "${folder}/sessions.db": there is no folder "${folder}"\n`]
      )
    }))

  for (const command of ["show", "resume", "compact", "fork", "export"]) {
    it.effect(`${command} says where it looked`, () =>
      Effect.gen(function*() {
        const { on } = yield* workplace()
        const { code, stderr } = yield* on(command, ["abcdef"])
        assert.strictEqual(code, 1)
        assert.match(stderr, /^fiberloop: there is no session "abcdef", because there is no database [^\n]+\n$/)
      }))
  }

  it.effect("none is created", () =>
    Effect.gen(function*() {
      const { db, on } = yield* workplace()
      for (const command of commands) yield* on(command, command === "sessions" ? [] : ["abcdef"])
      assert.notInclude(readdirSync(dirname(db)), "sessions.db")
    }))

  it.effect("an empty file stays empty", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "empty.db": "" })
      const { code, stderr } = yield* invoke(["sessions", "--db", join(root, "empty.db")])
      assert.strictEqual(code, 0)
      assert.include(stderr, "there are no sessions yet")
      assert.strictEqual(statSync(join(root, "empty.db")).size, 0)
    }))
})

describe("fiberloop sessions", () => {
  it.effect("lists the newest first", () =>
    Effect.gen(function*() {
      const { on, run } = yield* withSession("2+2")
      yield* run(["3+3", "--max-turns", "1"])
      const { code, stdout } = yield* on("sessions")
      const [newest, oldest, ...more] = stdout.split("\n")
      assert.strictEqual(code, 0)
      assert.match(newest!, /^[0-9a-f-]{36} {2}limited {4}1 turn {3}just now {2}3\+3$/)
      assert.match(oldest!, /^[0-9a-f-]{36} {2}completed {2}2 turns {2}just now {2}2\+2$/)
      assert.deepStrictEqual(more, [""])
    }))

  it.effect("shows as many as it is told to, and how to see more", () =>
    Effect.gen(function*() {
      const { db, on, run } = yield* withSession()
      yield* run(["3+3"])
      const { stderr, stdout } = yield* on("sessions", ["--limit", "1"])
      assert.strictEqual(stdout.split("\n").length, 2)
      assert.strictEqual(stderr, `There are more: fiberloop sessions --limit 2 --db ${db}\n`)
      assert.strictEqual((yield* on("sessions", ["--limit", "2"])).stderr, "")
    }))

  it.effect("shows what agents began for calls only when asked for all", () =>
    Effect.gen(function*() {
      const { db, id, on, store } = yield* withSession()
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* (yield* SessionStore.SessionStore).open("below", { runId: "run-1", create: true })
        yield* session.append([begunFor(id, { seq: 1 })])
      })).pipe(Effect.provide(store))
      const ids = (text: string) => text.trimEnd().split("\n").map((line) => line.split(" ")[0])
      assert.deepStrictEqual(ids((yield* on("sessions")).stdout), [id])
      assert.sameMembers(ids((yield* on("sessions", ["--all"])).stdout), [id, "below"])
      const parents = (text: string) => text.trimEnd().split("\n").map((line) => JSON.parse(line).parent)
      assert.deepStrictEqual(parents((yield* on("sessions", ["--json"])).stdout), [undefined])
      assert.sameMembers(parents((yield* on("sessions", ["--json", "--all"])).stdout), [undefined, id])
      const { stderr } = yield* on("sessions", ["--all", "--limit", "1"])
      assert.strictEqual(stderr, `There are more: fiberloop sessions --limit 2 --all --db ${db}\n`)
    }))

  it.effect("shows those whose ids begin as asked", () =>
    Effect.gen(function*() {
      const { db, on, store } = yield* withSession()
      for (const id of ["acme/1", "acme/2", "acme"]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* (yield* SessionStore.SessionStore).open(id, { runId: "run-1", create: true })
          yield* session.append([started({ seq: 1 })])
        })).pipe(Effect.provide(store))
      }
      const ids = (text: string) => text.trimEnd().split("\n").map((line) => line.split(" ")[0])
      assert.sameMembers(ids((yield* on("sessions", ["--prefix", "acme/"])).stdout), ["acme/1", "acme/2"])
      const { stderr } = yield* on("sessions", ["--prefix", "acme/", "--limit", "1"])
      assert.strictEqual(stderr, `There are more: fiberloop sessions --limit 2 --prefix acme/ --db ${db}\n`)
      const none = yield* on("sessions", ["--prefix", "other/"])
      assert.deepStrictEqual([none.code, none.stdout], [0, ""])
      assert.strictEqual(
        none.stderr,
        `fiberloop: there is no session whose id begins with "other/": fiberloop sessions --db ${db}\n`
      )
    }))

  it.effect("says where those that it shows not are all there are", () =>
    Effect.gen(function*() {
      const { db, id, on, store } = yield* withSession()
      yield* Effect.gen(function*() {
        const kept = yield* SessionStore.SessionStore
        const session = yield* kept.open("below", { runId: "run-1", create: true })
        yield* session.append([begunFor(id, { seq: 1 })])
        yield* kept.remove(id)
      }).pipe(Effect.scoped, Effect.provide(store))
      const { stderr, stdout } = yield* on("sessions")
      assert.strictEqual(stdout, "")
      assert.strictEqual(
        stderr,
        `fiberloop: there are only sessions that agents began for calls: fiberloop sessions --all --db ${db}\n`
      )
    }))

  it.effect("takes as last the first that it shows", () =>
    Effect.gen(function*() {
      const { id, on, store } = yield* withSession()
      yield* Effect.gen(function*() {
        const session = yield* (yield* SessionStore.SessionStore).open("below", { runId: "run-1", create: true })
        yield* session.append([begunFor(id, { seq: 1, at: 1000 })])
      }).pipe(Effect.scoped, Effect.provide(store))
      assert.include((yield* on("show", ["last"])).stdout, `── session ${id} ·`)
    }))

  it.effect("prints a line of JSON for each", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { stdout } = yield* on("sessions", ["--json"])
      const { createdAt, updatedAt, ...rest } = JSON.parse(stdout)
      assert.isAtLeast(updatedAt, createdAt)
      assert.deepStrictEqual(rest, { sessionId: id, title: "2+2", head: rest.head, turns: 2, end: "RunCompleted" })
    }))

  it.effect("refuses a limit that is not a number", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* invoke(["sessions", "--limit", "0"])
      assert.deepStrictEqual([code, stderr], [
        2,
        "fiberloop: --limit takes a whole number of at least 1, not \"0\"\n"
      ])
    }))

  it.effect("fits a terminal", () =>
    Effect.gen(function*() {
      const { on } = yield* withSession("2+2 三三三三三三三三三三三三三三三三三三三三三三三三三三三")
      const { stdout } = yield* on("sessions", ["--no-color"], { isTerminal: true, columns: 90 })
      assert.isAtMost(Array.from(stdout.trimEnd(), (char) => char === "三" ? 2 : 1).reduce((a, b) => a + b, 0), 90)
      assert.include(stdout, "三…")
    }))
})

describe("fiberloop show", () => {
  it.effect("prints the transcript, the ends and the totals on standard output", () =>
    Effect.gen(function*() {
      const { id, on, run } = yield* withSession("2+2")
      yield* run(["3+3", "--session", id])
      const { code, stderr, stdout } = yield* on("show", [id])
      assert.deepStrictEqual([code, stderr], [0, ""])
      const tellTale = ["── run 1", "> 2+2", "● calculate", "2+2 = 4", "✓ The model finished", "── run 2", "> 3+3"]
      let at = -1
      for (const words of [...tellTale, "3+3 = 6", `── session ${id} · 2 runs · 4 turns · 2 tool calls`]) {
        const next = stdout.indexOf(words, at + 1)
        assert.isAbove(next, at, words)
        at = next
      }
    }))

  it.effect("prints the stored events as run --json printed them, a line each, with --json", () =>
    Effect.gen(function*() {
      const { on, run, store } = yield* workplace()
      const { stdout } = yield* run(["2+2", "--json"])
      const [info] = yield* SessionStore.SessionStore.use((_) => _.list()).pipe(Effect.provide(store))
      const { sessionId } = info!
      const eventsOf = (text: string) => text.trimEnd().split("\n").map((line) => JSON.parse(line))
      const shown = yield* on("show", [sessionId, "--json"])
      assert.deepStrictEqual(eventsOf(shown.stdout), eventsOf(stdout).filter((event) => "seq" in event))
    }))

  it.effect("accepts the beginning of an id", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stdout } = yield* on("show", [id.slice(0, 6)])
      assert.strictEqual(code, 0)
      assert.include(stdout, `── session ${id}`)
    }))

  it.effect("accepts last for the most recently changed session, even if another is called last", () =>
    Effect.gen(function*() {
      const { id, on, run, store } = yield* withSession()
      const newer = idOf(yield* run(["3*3"]))
      assert.include((yield* on("show", ["last"])).stdout, `── session ${newer} ·`)
      yield* TestClock.adjust("1 second")
      yield* run(["--session", id, "4*4"])
      assert.include((yield* on("show", ["last"])).stdout, `── session ${id} ·`)
      assert.include((yield* run(["--session", "last", "5*5"])).stderr, `session ${id}\n`)
      yield* Effect.provide(SessionStore.SessionStore.use((_) => _.fork(newer, { to: "last" })), store)
      yield* TestClock.adjust("1 second")
      yield* run(["--session", id, "6*6"])
      assert.include((yield* on("show", ["last"])).stdout, `── session ${id} ·`)
    }))

  it.effect("finds no last session when there is none", () =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      const { code, stderr } = yield* on("show", ["last"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: there is no session "last", because there is no database [^\n]+\n$/)
    }))

  it.effect("accepts a whole id that is also the beginning of another", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      yield* on("fork", [id, "--to", "my-copy"])
      yield* on("fork", [id, "--to", "my-copy-2"])
      assert.include((yield* on("show", ["my-copy"])).stdout, "── session my-copy ·")
    }))

  it.effect("names the closest session if there is no match, on one line with code 1", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stderr, stdout } = yield* on("show", [`${id}x`])
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.strictEqual(
        stderr,
        `fiberloop: there is no session "${id}x" in this database, did you mean ${id}?\n`
      )
    }))

  it.effect("does not count a session that was only opened", () =>
    Effect.gen(function*() {
      const { on, store } = yield* withSession()
      const code = yield* SessionStore.SessionStore.use((_) => _.open("opened", { runId: "r", create: true })).pipe(
        Effect.andThen(Effect.map(on("show", ["opened"]), (_) => _.code)),
        Effect.scoped,
        Effect.provide(store)
      )
      assert.strictEqual(code, 1)
    }))

  it.effect("colours a terminal, unless told not to", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const isColoured = (args: ReadonlyArray<string>, env: Record<string, string> = {}, isTerminal = true) =>
        Effect.map(on("show", [id, ...args], { env, isTerminal }), (_) => _.tape.includes("\u001b"))
      assert.isTrue(yield* isColoured([]))
      assert.isFalse(yield* isColoured(["--no-color"]))
      assert.isFalse(yield* isColoured([], { NO_COLOR: "1" }))
      assert.isFalse(yield* isColoured([], {}, false))
    }))

  it.effect("stops quietly when nobody reads its output any more", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stderr } = yield* on("show", [id], { closesAt: 0 })
      assert.deepStrictEqual([code, stderr], [141, ""])
    }))

  it.effect("stops at a signal, with the signal's code", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      assert.strictEqual((yield* on("show", [id], { signal: "SIGINT" })).code, 130)
    }))
})

describe("fiberloop resume", () => {
  it.effect("continues the last run, found by the beginning of its session's id", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession("2+2", ["--max-turns", "1"])
      const { code, stdout } = yield* on("resume", [id.slice(0, 8), "--max-turns", "5"])
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n"])
    }))

  it.effect("prints the events with --json", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession("2+2", ["--max-turns", "1"])
      const { stdout } = yield* on("resume", [id, "--max-turns", "5", "--json"])
      const tags = stdout.trimEnd().split("\n").map((line) => JSON.parse(line)._tag)
      assert.deepStrictEqual([tags[0], tags.at(-1)], ["RunResumed", "RunCompleted"])
    }))

  it.effect("says so if there is nothing to continue", () =>
    Effect.gen(function*() {
      const { db, id, on, root } = yield* withSession()
      const { code, stderr } = yield* on("resume", [id])
      assert.strictEqual(code, 1)
      assert.include(stderr, "has no unfinished run to continue")
      assert.include(stderr, `as in fiberloop run --session ${id} --db ${db} --root ${root} "<task>"\n`)
    }))
})

describe("fiberloop fork", () => {
  it.effect("--json is the copy as sessions lists it, instead of its id", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stdout } = yield* on("fork", [id, "--to", "copy", "--json"])
      assert.deepStrictEqual([code, JSON.parse(stdout).sessionId], [0, "copy"])
      assert.include((yield* on("sessions", ["--json"])).stdout, stdout)
    }))

  it.effect("prints only the copy's id on standard output, and says how to continue it", () =>
    Effect.gen(function*() {
      const { db, id, on, root, store } = yield* withSession()
      const { code, stderr, stdout } = yield* on("fork", [id.slice(0, 6)])
      const copy = stdout.trimEnd()
      assert.strictEqual(code, 0)
      assert.include(stderr, `Go on with: fiberloop run --session ${copy} --db ${db} --root ${root} "<task>"\n`)
      const [before, after] = yield* Effect.all([logOf(id), logOf(copy)]).pipe(Effect.provide(store))
      assert.deepStrictEqual(after, before)
    }))

  it.effect("copies up to an event, under an id, and says that the run can be resumed", () =>
    Effect.gen(function*() {
      const { id, on, store } = yield* withSession()
      const log = yield* logOf(id).pipe(Effect.provide(store))
      const { seq } = log.find((event) => event._tag === "TurnFinished")!
      const { stderr, stdout } = yield* on("fork", [id, "--at", String(seq), "--to", "copy"])
      assert.strictEqual(stdout, "copy\n")
      assert.include(stderr, "fiberloop resume copy --db")
      assert.strictEqual((yield* on("resume", ["copy"])).stdout, "2+2 = 4\n")
    }))

  it.effect("says that a run which failed or reached a limit can be resumed", () =>
    Effect.gen(function*() {
      const failed = yield* withSession("compose a sonnet")
      const { stderr } = yield* failed.on("fork", [failed.id, "--to", "copy"])
      assert.include(stderr, `or its run:  fiberloop resume copy --db ${failed.db} --root ${failed.root}\n`)
      const limited = yield* withSession("2+2", ["--max-turns", "1"])
      const { stderr: said } = yield* limited.on("fork", [limited.id, "--to", "copy"])
      assert.include(
        said,
        `or its run:  fiberloop resume copy --db ${limited.db} --root ${limited.root} --max-turns <n>\n`
      )
    }))

  it.effect("names the nearest places if the event is not one", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      assert.strictEqual((yield* on("fork", [id, "--at", "x"])).code, 2)
      const { code, stderr } = yield* on("fork", [id, "--at", "1"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: session "[^"]+" cannot be forked at event 1, [^\n]+nearest place[^\n]+\n$/)
    }))

  it.effect("refuses an id that is taken, or that no session can have", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const taken = yield* on("fork", [id, "--to", id])
      const bad = yield* on("fork", [id, "--to", " "])
      assert.deepStrictEqual([taken.code, bad.code], [1, 2])
      assert.include(taken.stderr, `session "${id}" already exists`)
      assert.include(bad.stderr, "--to is empty; leave it out for a new one")
    }))

  it.effect("refuses the id last, by which no command would find the copy", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stderr, stdout } = yield* on("fork", [id, "--to", "last"])
      assert.deepStrictEqual([code, stdout], [2, ""])
      assert.include(
        stderr,
        "--to is \"last\", which means the session that was changed last; leave it out for a new one"
      )
      assert.include((yield* on("show", ["last"])).stdout, `── session ${id} ·`)
    }))
})

describe("the command line", () => {
  for (const command of commands) {
    it.effect(`${command} --help has examples, and no line wider than 120 characters`, () =>
      Effect.gen(function*() {
        const { code, stdout } = yield* invoke([command, "--help"])
        assert.strictEqual(code, 0)
        for (const words of ["EXAMPLES", `fiberloop ${command}`, "EXIT CODES", "--completions"]) {
          assert.include(stdout, words)
        }
        assert.deepStrictEqual(stdout.split("\n").filter((line) => line.length > 120), [])
      }))
  }

  const askNoModel = [
    "sessions",
    "show",
    "stats",
    "fork",
    "export",
    "import",
    "remove",
    "approvals",
    "approve",
    "deny",
    "steer",
    "abort"
  ]
  it.effect.each(askNoModel)(
    "%s --help says nothing of models, which the command asks for nothing",
    (command) =>
      Effect.gen(function*() {
        const { stdout } = yield* invoke([command, "--help"])
        assert.include(stdout, "EXIT CODES")
        for (const words of ["OFFLINE MODEL", "CHANGES", "OPENAI_API_KEY"]) assert.notInclude(stdout, words)
      })
  )

  it.effect("asks for the missing session", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* invoke(["show"])
      assert.deepStrictEqual([code, stderr], [
        2,
        "fiberloop: the session is missing: fiberloop show <session> (see fiberloop show --help)\n"
      ])
    }))

  it.effect("accepts only one session", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* invoke(["show", "a", "b"])
      assert.deepStrictEqual([code, stderr], [
        2,
        "fiberloop: \"b\" is one argument too many (see fiberloop show --help)\n"
      ])
    }))

  it.effect("rejects an empty session", () =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      const { code, stderr } = yield* on("show", [""])
      assert.strictEqual(code, 1)
      assert.include(stderr, "the session is empty")
    }))

  it.effect("mentions the completions, which name all commands", () =>
    Effect.gen(function*() {
      assert.include((yield* invoke(["--help"])).stdout, "source <(fiberloop --completions bash)")
      for (const shell of ["bash", "zsh", "fish", "powershell"]) {
        const { code, stdout } = yield* invoke(["--completions", shell])
        assert.strictEqual(code, 0)
        for (const command of commands) assert.include(stdout, command)
      }
    }))
})

describe("as a process", () => {
  it.effect("a folder without sessions is left unchanged", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      const { code, stderr, stdout } = yield* Child.run(["sessions"], { cwd })
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.match(stderr, /^fiberloop: there are no sessions yet in [^\n]+: fiberloop run "<task>" begins one\n$/)
      assert.isFalse(existsSync(join(cwd, ".fiberloop")))
    }))

  it.effect("a session is listed and shown by a process other than the one that ran it", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      yield* Child.run(["run", "2+2"], { cwd })
      const listed = yield* Child.run(["sessions", "--json"], { cwd })
      const { sessionId } = JSON.parse(listed.stdout)
      const { code, stderr, stdout } = yield* Child.run(["show", sessionId], { cwd })
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.include(stdout, "2+2 = 4")
    }))

  it.effect("bash accepts the completions", () =>
    Effect.gen(function*() {
      const { stdout } = yield* Child.run(["--completions", "bash"], { cwd: yield* sandbox() })
      execFileSync("bash", ["-n"], { input: stdout })
      assert.include(stdout, "complete ")
    }))
})
