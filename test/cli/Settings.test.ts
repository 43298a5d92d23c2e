/** What was typed becomes settings, or is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import * as Settings from "../../src/cli/Settings.ts"

const nothing: Settings.Typed = {
  task: undefined,
  root: undefined,
  db: undefined,
  model: undefined,
  maxTurns: undefined,
  session: undefined,
  json: false,
  isPlain: false
}

const check = (typed: Partial<Settings.Typed>) => Settings.check({ ...nothing, ...typed })
const refused = (typed: Partial<Settings.Typed>) => Effect.map(Effect.flip(check(typed)), ({ line }) => line)
const codeOf = (typed: Partial<Settings.Typed>) => Effect.map(Effect.flip(check(typed)), ({ code }) => code)

it.effect("nothing typed means the current folder, its own database, and nothing allowed", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* check({}), {
      task: undefined,
      root: ".",
      isDefaultRoot: true,
      sessionRoot: undefined,
      db: join(".fiberloop", "sessions.db"),
      isDefaultDb: true,
      model: undefined,
      isModelOfSession: false,
      maxTurns: undefined,
      contextWindow: undefined,
      session: undefined,
      json: false,
      isPlain: false,
      allowsAll: false,
      asFiberloop: false,
      flags: []
    })
  }))

it.effect("what was typed applies, and is repeated for another run", () =>
  Effect.gen(function*() {
    const given = { root: "src", db: "a.db", model: "m", contextWindow: "8000", maxTurns: "7", yes: true }
    const settings = yield* check(given)
    assert.deepInclude(settings, {
      root: "src",
      isDefaultRoot: false,
      db: "a.db",
      isDefaultDb: false,
      model: "m",
      contextWindow: 8_000,
      maxTurns: 7,
      allowsAll: true
    })
    assert.deepStrictEqual(settings.flags, [
      "--root",
      "src",
      "--db",
      "a.db",
      "--model",
      "m",
      "--context-window",
      "8000"
    ])
  }))

it.effect("blanks around a model's name are no part of it, and a server's name may be a path", () =>
  Effect.gen(function*() {
    const { flags, model } = yield* check({ model: " gpt-5.5 \t" })
    assert.deepStrictEqual([model, flags], ["gpt-5.5", ["--model", "gpt-5.5"]])
    for (const path of ["/x", "./models/", "/models/llama/"]) {
      assert.strictEqual((yield* check({ model: path })).model, path)
    }
  }))

it.effect("a number may begin with zeros", () =>
  Effect.gen(function*() {
    assert.strictEqual((yield* check({ maxTurns: "007" })).maxTurns, 7)
  }))

it.effect("a Postgres is named to another run without its password", () =>
  Effect.gen(function*() {
    const { db, flags } = yield* check({ db: "postgres://me:secret@host/app" })
    assert.deepStrictEqual([db, flags], ["postgres://me:secret@host/app", ["--db", "postgres://me@host/app"]])
  }))

describe("is refused", () => {
  for (
    const [field, says] of [
      ["task", "the task is empty"],
      ["session", "--session is empty"],
      ["root", "--root is empty"],
      ["db", "--db is empty"],
      ["model", "--model is empty"]
    ] as const
  ) {
    it.effect(`a blank ${field}`, () =>
      Effect.gen(function*() {
        assert.include(yield* refused({ [field]: " " }), says)
      }))
  }

  it.effect.each(["anthropic/", "google/ ", "openai/"])(
    "%s, a model whose name is missing, with code 2",
    (model) =>
      Effect.gen(function*() {
        const line = yield* refused({ model })
        assert.include(
          line,
          `--model (FIBERLOOP_MODEL) ${model.trim()} ends before the name of a model: give it after the slash`
        )
        assert.strictEqual(yield* codeOf({ model }), 2)
      })
  )

  it.effect("with code 2 where a flag has a bad value, and with 1 where the task, which may be piped, is empty", () =>
    Effect.gen(function*() {
      for (const db of ["", ":memory:", "mysql://host/app", "file:y.db"]) assert.strictEqual(yield* codeOf({ db }), 2)
      for (const flag of ["session", "root", "model"]) assert.strictEqual(yield* codeOf({ [flag]: " " }), 2)
      assert.strictEqual(yield* codeOf({ task: " " }), 1)
    }))

  it.effect("a database at an address other than Postgres, without showing its password", () =>
    Effect.gen(function*() {
      const line = yield* refused({ db: "mysql://me:secret@host/app" })
      assert.strictEqual(line, "--db takes a file, or a URL that begins with postgres://, not with mysql://")
      assert.strictEqual(
        yield* refused({ db: "://host/app" }),
        "--db takes a file, or a URL that begins with postgres:// and has nothing in front of it"
      )
      for (const db of ["file:y.db", "FILE:y.db?mode=memory", "file:///tmp/y.db"]) {
        assert.strictEqual(
          yield* refused({ db }),
          `--db takes a file, or a URL that begins with postgres://, not with ${db.slice(0, 5)}`
        )
      }
      assert.strictEqual((yield* check({ db: "./file:y.db" })).db, "./file:y.db")
    }))

  it.effect("a number above the largest that is accepted", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* check({ maxTurns: "999999999" })).maxTurns, 999_999_999)
      assert.strictEqual(
        yield* refused({ maxTurns: "1000000000" }),
        "--max-turns takes at most 999999999, not 1000000000"
      )
    }))
})
