/** Sessions moved between databases, as files and through pipes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { execFileSync, spawn, type StdioOptions } from "node:child_process"
import { once } from "node:events"
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, watch } from "node:fs"
import { dirname, join } from "node:path"
import * as SessionLine from "../../src/run/log/SessionLine.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as SessionLines from "../../src/SessionLines.ts"
import * as Child from "./Child.ts"
import * as Invoke from "./Invoke.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

/** A workplace with a session, its id, and the lines it is exported as. */
const withSession = Effect.fnUntraced(function*(...[task, flags]: Parameters<typeof Invoke.withSession>) {
  const place = yield* Invoke.withSession(task, flags)
  const lines = yield* Stream.runCollect(SessionLines.toLines(place.id)).pipe(Effect.provide(place.store))
  const text = lines.map((line) => `${line}\n`).join("")
  return { ...place, text, folder: dirname(place.db) }
})

/** A file with this text, and a path for a database. */
const withFile = Effect.fnUntraced(function*(text: string | Uint8Array) {
  const folder = yield* sandbox({ "session.jsonl": text })
  const file = join(folder, "session.jsonl")
  const db = join(folder, "new.db")
  const importing = (...args: ReadonlyArray<string>) => Invoke.invoke(["import", file, "--db", db, ...args])
  return { file, db, importing }
})

/** 40 MB: more than a database keeps out of its file until the end of a write. */
const largeSession = [
  SessionLine.fromHeader({ sessionId: "large", events: 400 }),
  ...Array.from({ length: 400 }, (_, at) =>
    SessionLine.fromEvent({
      _tag: "NoticeAdded",
      seq: at + 1,
      at,
      runId: "run-1",
      version: 1,
      kind: "resume",
      text: "x".repeat(100_000)
    }))
].map((line) => `${line}\n`).join("")

const storedIn = (store: Effect.Success<ReturnType<typeof Invoke.workplace>>["store"]) =>
  Effect.provide(SessionStore.SessionStore.use((_) => _.list()), store)

describe("fiberloop export", () => {
  it.effect("prints the lines and nothing else", () =>
    Effect.gen(function*() {
      const { id, on, text } = yield* withSession()
      for (const to of [[], ["--to", "-"]]) {
        const { code, stderr, stdout } = yield* on("export", [id.slice(0, 6), ...to])
        assert.deepStrictEqual([code, stderr, stdout], [0, "", text])
      }
    }))

  it.effect("creates the file it is told to, and says how to import it", () =>
    Effect.gen(function*() {
      const { folder, id, on, text } = yield* withSession()
      const file = join(folder, "session.jsonl")
      const { code, stderr, stdout } = yield* on("export", [id, "--to", file])
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.include(stderr, `✓ exported session ${id} with 2 turns\nImport it with: fiberloop import ${file} `)
      assert.strictEqual(readFileSync(file, "utf8"), text)
    }))

  it.effect("leaves an existing file as it is", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { file } = yield* withFile("mine")
      const { code, stderr } = yield* on("export", [id, "--to", file])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: the file "[^"]+" already exists: name another one, or remove it\n$/)
      assert.strictEqual(readFileSync(file, "utf8"), "mine")
    }))

  it.effect("says why a file cannot be created", () =>
    Effect.gen(function*() {
      const { folder, id, on } = yield* withSession()
      const missing = yield* on("export", [id, "--to", join(folder, "no", "s.jsonl")])
      const empty = yield* on("export", [id, "--to", " "])
      const there = yield* on("export", [id, "--to", folder])
      assert.deepStrictEqual([missing.code, empty.code, there.code], [1, 2, 1])
      assert.match(
        missing.stderr,
        /^fiberloop: the file "[^"]+" cannot be written \(its folder does not exist\): name a file elsewhere\n$/
      )
      assert.include(empty.stderr, "--to is empty")
      assert.match(there.stderr, /^fiberloop: "[^"]+" is a folder: name a file in it\n$/)
    }))

  it.effect("leaves no file behind if the session cannot be read to its end", () =>
    Effect.gen(function*() {
      const { folder, on, store } = yield* withSession()
      const event = { _tag: "AbortRequested", at: 1, runId: "r", reason: "requested" } as const
      yield* SessionStore.SessionStore.use((_) => _.open("newer", { runId: "r", create: true })).pipe(
        Effect.flatMap((_) => _.append([{ ...event, seq: 1, version: 1 }, { ...event, seq: 2, version: 2 }])),
        Effect.scoped,
        Effect.provide(store)
      )
      const { code, stderr } = yield* on("export", ["newer", "--to", join(folder, "s.jsonl")])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: event 2 of session "newer" has version 2, [^\n]+\n$/)
      assert.notInclude(readdirSync(folder), "s.jsonl")
    }))

  it.effect("is safe to show on a terminal, and still the same session", () =>
    Effect.gen(function*() {
      const { id, on, text } = yield* withSession("2+2 \u009b31m\u202e")
      const { stdout } = yield* on("export", [id], { isTerminal: true })
      assert.notMatch(stdout, /[\u009b\u202e]/)
      const eventsOf = (lines: string) => lines.trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(eventsOf(stdout), eventsOf(text))
    }))

  it.effect("stops quietly when nobody reads its output any more", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stderr } = yield* on("export", [id], { closesAt: 0 })
      assert.deepStrictEqual([code, stderr], [141, ""])
    }))
})

describe("fiberloop import", () => {
  it.effect("prints only the id on standard output, and says how to continue", () =>
    Effect.gen(function*() {
      const { id, root, text } = yield* withSession()
      const { db, importing } = yield* withFile(text)
      const { code, stderr, stdout } = yield* importing()
      assert.deepStrictEqual([code, stdout], [0, `${id}\n`])
      assert.strictEqual(
        stderr,
        `✓ imported session ${id} with 2 turns\nLook at it: fiberloop show ${id} --db ${db}\n` +
          `Go on with: fiberloop run --session ${id} --db ${db} --root ${root} "<task>"\n`
      )
      assert.strictEqual((yield* Invoke.invoke(["export", id, "--db", db])).stdout, text)
    }))

  it.effect("--json is the session as sessions lists it, instead of its id", () =>
    Effect.gen(function*() {
      const { text } = yield* withSession()
      const { db, importing } = yield* withFile(text)
      const { code, stdout } = yield* importing("--json")
      assert.strictEqual(code, 0)
      assert.strictEqual(stdout, (yield* Invoke.invoke(["sessions", "--json", "--db", db])).stdout)
    }))

  const named = (sessionId: string) => {
    const event = { _tag: "AbortRequested", seq: 1, at: 1, runId: "r", version: 1, reason: "requested" } as const
    return withFile(`${SessionLine.fromHeader({ sessionId, events: 1 })}\n${SessionLine.fromEvent(event)}\n`)
  }

  it.effect("escapes the id from the file on a terminal", () =>
    Effect.gen(function*() {
      const { importing } = yield* named("abc\u202ecba")
      const { code, stderr, stdout } = yield* importing()
      assert.deepStrictEqual([code, stdout], [0, "abc\\u202ecba\n"])
      assert.notInclude(stderr, "\u202e")
      assert.include(stderr, "fiberloop show $'abc\\u202ecba' ")
    }))

  it.effect("refuses an id that no run may have, unless given another", () =>
    Effect.gen(function*() {
      const { db, importing } = yield* named("red\u001b[31m")
      const { code, stderr, stdout } = yield* importing()
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.include(stderr, "control characters; nothing was imported. Import under another id.")
      assert.isFalse(existsSync(db))
      assert.strictEqual((yield* importing("--to", "red")).stdout, "red\n")
    }))

  it.effect("refuses the id last, by which no command would find the session, unless given another", () =>
    Effect.gen(function*() {
      const { db, importing } = yield* named("last")
      for (const [exit, args] of [[1, []], [2, ["--to", "last"]]] as const) {
        const { code, stderr, stdout } = yield* importing(...args)
        assert.deepStrictEqual([code, stdout], [exit, ""])
        assert.include(stderr, "is \"last\", which means the session that was changed last")
      }
      assert.isFalse(existsSync(db))
      assert.strictEqual((yield* importing("--to", "copy")).stdout, "copy\n")
    }))

  it.effect("accepts another id, under which the session continues", () =>
    Effect.gen(function*() {
      const { id, on, run, text } = yield* withSession("2+2", ["--max-turns", "1"])
      const { file } = yield* withFile(text)
      assert.strictEqual((yield* on("import", [file, "--to", "copy"])).stdout, "copy\n")
      assert.strictEqual((yield* on("resume", ["copy", "--max-turns", "5"])).stdout, "2+2 = 4\n")
      assert.strictEqual((yield* run(["3+3", "--session", "copy"])).stdout, "3+3 = 6\n")
      assert.strictEqual((yield* on("export", [id])).stdout, text)
    }))

  it.effect("refuses an id that is in use, or that no session can have", () =>
    Effect.gen(function*() {
      const { db, id, on, store, text } = yield* withSession()
      const { file } = yield* withFile(text)
      const taken = yield* on("import", [file])
      const bad = yield* on("import", [file, "--to", " "])
      assert.deepStrictEqual([taken.code, bad.code], [1, 2])
      assert.strictEqual(
        taken.stderr,
        `fiberloop: session "${id}" already exists, and nothing was changed; import it under another id: ` +
          `fiberloop import ${file} --db ${db} --to <id>\n`
      )
      assert.include(bad.stderr, "--to is empty; leave it out for the one that the session had")
      assert.strictEqual((yield* storedIn(store)).length, 1)
    }))

  it.effect("says that a session exported in the middle of a run has no end", () =>
    Effect.gen(function*() {
      const { text } = yield* withSession()
      const { importing } = yield* withFile(
        text.replace("\"events\":10", "\"events\":2").split("\n").slice(0, 3).join("\n")
      )
      const { code, stderr } = yield* importing()
      assert.strictEqual(code, 0)
      assert.include(stderr, "Its last run had not ended when it was exported.\n")
    }))

  it.effect("says that a session that was shut down continues once it is taken up", () =>
    Effect.gen(function*() {
      const { text } = yield* withSession()
      const lines = text.trimEnd().split("\n")
      const { at, runId, seq, totals, version } = JSON.parse(lines.at(-1)!)
      const shutDown = { _tag: "RunAborted", seq, at, runId, version, reason: "shutdown", totals }
      const { importing } = yield* withFile(lines.with(-1, JSON.stringify(shutDown)).join("\n"))
      const { code, stderr } = yield* importing()
      assert.strictEqual(code, 0, stderr)
      assert.include(stderr, "Its last run ended with its process, or its store, and continues when it is resumed.\n")
    }))

  for (
    const [claim, change, part] of [
      ["is something else", () => "# Notes\n", "cannot be imported: line 1 is not a JSON object"],
      ["is empty", () => "", "cannot be imported: there are no lines"],
      ["was cut off", (text: string) => text.slice(0, -20), "cannot be imported: line 11 is not a JSON object"],
      ["is no UTF-8", () => new Uint8Array([0x7b, 0xff, 0x7d]), "is not UTF-8 text"],
      ["ends inside a character", () => new Uint8Array([0x7b, 0xe2, 0x82]), "is not UTF-8 text"]
    ] as const
  ) {
    it.effect(`refuses a file that ${claim} on one line, and creates no database`, () =>
      Effect.gen(function*() {
        const { text } = yield* withSession()
        const { db, importing } = yield* withFile(change(text))
        const { code, stderr, stdout } = yield* importing()
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, /^fiberloop: the file "[^"]+" [^\n]+\n$/)
        assert.include(stderr, part)
        assert.isFalse(existsSync(db))
      }))
  }

  it.effect("accepts a file with a byte order mark and other line endings", () =>
    Effect.gen(function*() {
      const { text } = yield* withSession()
      const { importing } = yield* withFile(`\ufeff${text.replaceAll("\n", "\r\n")}`)
      assert.strictEqual((yield* importing()).code, 0)
    }))

  it.effect("says why a file cannot be read", () =>
    Effect.gen(function*() {
      const { folder, on } = yield* withSession()
      const said = (file: string) => Effect.map(on("import", [file]), ({ code, stderr }) => `${code} ${stderr}`)
      assert.match(
        yield* said(join(folder, "no")),
        /^1 fiberloop: the file "[^"]+" cannot be read \(it does not exist\): name a file that you can read\n$/
      )
      assert.match(
        yield* said(folder),
        /^1 fiberloop: the file "[^"]+" cannot be read \(it is a folder\): name a file that you can read\n$/
      )
      assert.match(yield* said(" "), /^1 fiberloop: the file is empty[^\n]+\n$/)
    }))

  it.effect("asks for the missing file", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* Invoke.invoke(["import"])
      assert.deepStrictEqual([code, stderr], [
        2,
        "fiberloop: the file is missing: fiberloop import <file> (see fiberloop import --help)\n"
      ])
    }))
})

describe("as processes", () => {
  it.effect("a session goes through a pipe into another folder, and is answered there", () =>
    Effect.gen(function*() {
      const [from, to] = [yield* sandbox(), yield* sandbox()]
      yield* Child.run(["run", "2+2"], { cwd: from })
      const { sessionId } = JSON.parse((yield* Child.run(["sessions", "--json"], { cwd: from })).stdout)
      const exported = yield* Child.run(["export", sessionId], { cwd: from })
      const importing = yield* Child.start(["import", "-"], { cwd: to, spawn: { stdio: "pipe" } })
      importing.process.stdin!.end(exported.stdout)
      const { code, stdout } = yield* importing.ended
      assert.deepStrictEqual([code, stdout], [0, `${sessionId}\n`])
      assert.strictEqual((yield* Child.run(["export", sessionId], { cwd: to })).stdout, exported.stdout)
      assert.strictEqual((yield* Child.run(["run", "3+3", "--session", sessionId], { cwd: to })).stdout, "3+3 = 6\n")
    }))

  /** Awaits that the log of a database has grown to this many bytes. */
  const grown = (db: string, bytes: number) =>
    Effect.callback<void>((resume) => {
      const log = `${db}-wal`
      const watcher = watch(dirname(db), () => {
        if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) >= bytes) resume(Effect.void)
      })
      return Effect.sync(() => watcher.close())
    })

  for (const megabytes of [1, 10, 30]) {
    it.effect(`an import killed after writing ${megabytes} MB leaves the whole session or nothing`, () =>
      Effect.gen(function*() {
        const { db, file } = yield* withFile(largeSession)
        const child = yield* Child.start(["import", file, "--db", db], { cwd: dirname(file) })
        yield* Effect.raceFirst(grown(db, megabytes * 1e6), child.exited)
        child.process.kill("SIGKILL")
        yield* child.exited
        const isThere = (yield* Invoke.invoke(["sessions", "--db", db])).stdout !== ""
        const again = yield* Invoke.invoke(["import", file, "--db", db])
        assert.strictEqual(again.code, isThere ? 1 : 0)
        assert.strictEqual((yield* Invoke.invoke(["export", "large", "--db", db])).stdout, largeSession)
      }))
  }

  it.effect.skipIf(!existsSync("/dev/full"))("an export to a full disk says so", () =>
    Effect.gen(function*() {
      const { db, id } = yield* withSession()
      const full = yield* Effect.acquireRelease(
        Effect.sync(() => openSync("/dev/full", "w")),
        (file) => Effect.sync(() => closeSync(file))
      )
      const toFull = { cwd: dirname(db), spawn: { stdio: ["ignore", full, "pipe"] satisfies StdioOptions } }
      const line = "fiberloop: standard output cannot be written (the disk is full): send it elsewhere\n"
      const { code, stderr } = yield* Child.run(["export", id, "--db", db], toFull)
      assert.deepStrictEqual([code, stderr], [1, line])
      // a copy that was made is reported, or a script would make another
      const forked = yield* Child.run(["fork", id, "--to", "copy", "--db", db], toFull)
      assert.strictEqual(forked.code, 1)
      assert.match(forked.stderr, /^✓ forked [^\n]+\nGo on with: [^\n]* --session copy /)
      assert.isTrue(forked.stderr.endsWith(line))
      const { file } = yield* withFile((yield* Invoke.invoke(["export", id, "--db", db])).stdout)
      const imported = yield* Child.run(["import", file, "--to", "other", "--db", db], toFull)
      assert.strictEqual(imported.code, 1)
      assert.match(imported.stderr, /^✓ imported session other /)
    }))

  it.effect.skipIf(process.platform === "win32")(
    "an import ends at the first signal while a named pipe is silent",
    () =>
      Effect.gen(function*() {
        const cwd = yield* sandbox()
        const pipe = join(cwd, "pipe")
        execFileSync("mkfifo", [pipe])
        const child = yield* Child.start(["import", pipe], { cwd })
        const writer = yield* Effect.acquireRelease(
          Effect.sync(() => spawn("sh", ["-c", "exec 3> \"$1\"; echo open; read line", "sh", pipe])),
          (writer) => Effect.sync(() => writer.kill("SIGKILL"))
        )
        yield* Effect.promise(() => once(writer.stdout, "data"))
        child.process.kill("SIGTERM")
        assert.strictEqual((yield* child.ended).code, 143)
      })
  )

  it.effect("the first wrong line on standard input ends the import, though more could come", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      const child = yield* Child.start(["import", "-"], { cwd, spawn: { stdio: "pipe" } })
      child.process.stdin!.write("{\n")
      const { code, stderr } = yield* child.ended
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: standard input cannot be imported: line 1 [^\n]+\n$/)
    }))
})

describe("a session from a newer version", () => {
  for (const command of ["show", "resume", "fork", "export"]) {
    it.effect(`is refused by ${command} on one line, and its file is left as it is`, () =>
      Effect.gen(function*() {
        const { db, on, text } = yield* withSession()
        const { file } = yield* withFile(text)
        yield* on("import", [file, "--to", "newer"])
        const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
        const database = new DatabaseSync(db)
        database.exec(
          "UPDATE fiberloop_log SET version = 2 WHERE seq = 10 AND session = " +
            "(SELECT session FROM fiberloop_sessions WHERE id = 'newer')"
        )
        database.close()
        const before = readFileSync(db)
        const { code, stderr } = yield* on(command, ["newer"])
        assert.strictEqual(code, 1)
        assert.match(stderr, /^fiberloop: event 10 of session "newer" has version 2, [^\n]+ Update fiberloop[^\n]+\n$/)
        assert.isTrue(before.equals(readFileSync(db)))
      }))
  }
})
