/** The command on sessions in Postgres. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import * as Settings from "../../src/cli/Settings.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as Child from "./Child.ts"
import { idOf, invoke } from "./Invoke.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

const secret = "s3cret-w0rd"

/** A database, its URL with a password, and the command on it in an empty folder. */
const workplace = Effect.gen(function*() {
  const url = new URL(yield* PgDatabases.database)
  // a password that the server does not ask for
  if (url.password === "") url.password = secret
  const hidden = new URL(url)
  hidden.password = ""
  const root = yield* sandbox()
  const on = (command: string, ...args: ReadonlyArray<string>) => invoke([command, "--db", url.href, ...args])
  const run = (...args: ReadonlyArray<string>) => on("run", "--root", root, ...args)
  return { db: url.href, password: url.password, shown: hidden.href, root, on, run }
})

it.live("a session is started, listed, shown, forked and continued", () =>
  Effect.gen(function*() {
    const { on, run } = yield* workplace
    const first = yield* run("2+2")
    assert.deepStrictEqual([first.code, first.stdout], [0, "2+2 = 4\n"])
    const id = idOf(first)
    assert.include((yield* on("sessions")).stdout, id)
    assert.include((yield* on("show", id.slice(0, 8))).stdout, "2+2")
    assert.strictEqual((yield* on("fork", id, "--to", "copy")).stdout, "copy\n")
    assert.strictEqual((yield* run("3+3", "--session", "copy")).stdout, "3+3 = 6\n")
    assert.strictEqual((yield* on("sessions", "--json")).stdout.split("\n").length, 3)
  }))

it.live("a run that stopped at a limit is resumed", () =>
  Effect.gen(function*() {
    const { on, root, run } = yield* workplace
    const limited = yield* run("2+2", "--max-turns", "1")
    assert.strictEqual(limited.code, 1)
    const resumed = yield* on("resume", idOf(limited), "--root", root, "--max-turns", "5")
    assert.deepStrictEqual([resumed.code, resumed.stdout], [0, "2+2 = 4\n"])
  }))

it.live("runs are counted", () =>
  Effect.gen(function*() {
    const { on, run } = yield* workplace
    yield* run("2+2")
    yield* run("3+3", "--max-turns", "1")
    const { code, stderr, stdout } = yield* on("stats", "--json")
    assert.deepStrictEqual([code, stderr], [0, ""])
    const { ends, latency, sessions, turns } = JSON.parse(stdout)
    assert.deepStrictEqual([sessions, ends.completed, ends.limited, turns.total], [2, 1, 1, 3])
    assert.strictEqual(latency.tools.count, 1)
  }))

it.live("a session is exported, and imported again", () =>
  Effect.gen(function*() {
    const { on, root, run } = yield* workplace
    const id = idOf(yield* run("2+2"))
    const file = join(root, "session.jsonl")
    assert.strictEqual((yield* on("export", id, "--to", file)).code, 0)
    assert.strictEqual((yield* on("import", file, "--to", "copy")).stdout, "copy\n")
    assert.strictEqual((yield* run("3+3", "--session", "copy")).stdout, "3+3 = 6\n")
    assert.strictEqual((yield* on("recover")).code, 0)
  }))

it.live("the hint for continuing a session names the database without its password", () =>
  Effect.gen(function*() {
    const { on, password, run, shown } = yield* workplace
    const limited = yield* run("2+2", "--max-turns", "1")
    assert.include(limited.stderr, `Go on with: fiberloop run --session ${idOf(limited)}`)
    const all = [
      limited,
      yield* on("fork", idOf(limited), "--to", "copy"),
      yield* on("show", idOf(limited)),
      yield* on("sessions", "--limit", "1")
    ]
    for (const { stderr, stdout } of all) {
      assert.notInclude(stderr + stdout, password)
      if (/Go on with|There are more/.test(stderr + stdout)) assert.include(stderr + stdout, `--db ${shown}`)
    }
  }))

it.live("an empty database is named without its password", () =>
  Effect.gen(function*() {
    const { on, shown } = yield* workplace
    const { stderr } = yield* on("sessions")
    assert.strictEqual(
      stderr,
      `fiberloop: there are no sessions yet in "${shown}": fiberloop run --db ${shown} "<task>" begins one\n`
    )
    const { stderr: unknown } = yield* on("show", "abcdef")
    assert.include(unknown, "there is no session \"abcdef\" in this database")
  }))

it.live.skipIf(process.env["DATABASE_URL"] !== undefined)(
  "PGPASSWORD is the password for a URL that has none",
  () =>
    Effect.gen(function*() {
      const { db } = yield* workplace
      const role = `guarded${process.pid}`
      yield* PgDatabases.query(db, "CREATE ROLE guarded")
      yield* PgDatabases.query(db, `CREATE ROLE ${role} LOGIN PASSWORD '${secret}' IN ROLE guarded`)
      yield* PgDatabases.query(db, `GRANT ALL ON SCHEMA public TO ${role}`)
      const guarded = new URL(db)
      guarded.username = role
      guarded.password = ""
      const [none, wrong, right] = yield* Effect.forEach(
        [{}, { PGPASSWORD: "wrong" }, { PGPASSWORD: secret }],
        (env) => invoke(["sessions", "--db", guarded.href], { env })
      )
      assert.include(none!.stderr, "PGPASSWORD")
      assert.include(wrong!.stderr, "refuses the password")
      assert.include(right!.stderr, "there are no sessions yet")
    })
)

for (
  const [claim, db, exit, part] of [
    ["that cannot be reached", `postgres://me:${secret}@127.0.0.1:1/app`, 1, "o Postgres answers on 127.0.0.1:1"],
    ["that is no URL", `postgres://me:${secret}@ho st/app`, 1, "is not a Postgres URL"],
    ["whose password ends it with a slash", `postgres://me:12/${secret}@host/app`, 1, "%2F"],
    ["whose password ends it with a hash", `postgres://me:12#${secret}@host/app`, 1, "%23"],
    ["whose password ends it with a question mark", `postgres://me:12?${secret}@host/app`, 1, "%3F"],
    ["without slashes", `postgres:me:${secret}@host/app`, 1, "is not a Postgres URL"],
    ["of another kind", `mysql://me:${secret}@host/app`, 2, "begins with postgres://, not with mysql://"],
    ["after a blank", ` postgres://me:${secret}@host/app`, 2, "nothing in front of it"],
    ["in quotes", `'postgres://me:${secret}@host/app'`, 2, "nothing in front of it"],
    ["as Java names it", `jdbc:postgresql://me:${secret}@host/app`, 2, "nothing in front of it"]
  ] as const
) {
  it.live(`a database ${claim} is refused in one line, without its password`, () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      for (const args of [["run", "--root", root, "2+2"], ["sessions"], ["show", "abcdef"], ["fork", "abcdef"]]) {
        const { code, stderr, stdout } = yield* invoke([...args, "--db", db])
        assert.deepStrictEqual([code, stdout], [exit, ""])
        assert.match(stderr, /^fiberloop: [^\n]+\n$/)
        assert.include(stderr, part)
        assert.notInclude(stderr, secret)
      }
    }))
}

it.effect.each(["password", "sslpassword"])("the %s in the query of a URL is not shown", (name) =>
  Effect.sync(() => {
    const url = `postgres://me@host/app?sslmode=require&${name}=${secret}`
    assert.strictEqual(Settings.shown(url), "postgres://me@host/app?sslmode=require")
  }))

it.live("the command ends with its answer and creates no file", () =>
  Effect.gen(function*() {
    const { db, root } = yield* workplace
    const child = yield* Child.start(["run", "2+2", "--db", db], { cwd: root })
    const { code, stderr, stdout } = yield* child.ended
    assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n"], stderr)
    assert.deepStrictEqual(readdirSync(root), [])
  }))

it.live("the command loads nothing outside its bundle", () =>
  Effect.gen(function*() {
    const { db, root } = yield* workplace
    const hook = `import { registerHooks } from "node:module"
      registerHooks({
        resolve: (name, context, next) => {
          if (!name.startsWith("node:") && !next(name, context).url.includes("/dist/cli-")) throw new Error(name)
          return next(name, context)
        }
      })`
    const child = yield* Child.start(["run", "2+2", "--db", db], {
      cwd: root,
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
    })
    const { code, stderr, stdout } = yield* child.ended
    assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n"], stderr)
  }))
