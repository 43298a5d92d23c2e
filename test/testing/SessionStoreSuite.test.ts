/**
 * Where the suite of session stores can be loaded and called, and that it says what a store did although it has to
 * refuse it. A store of classes passes it. What it finds in others is tested in `WrongStores`.
 */
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { rolldown } from "rolldown"
import * as Fixtures from "../../src/testing/sessions/Fixtures.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"
import * as ClassStore from "../support/ClassStore.ts"
import { temporaryFolder } from "../support/Processes.ts"

const testing = join(import.meta.dirname, "../../src/testing/index.ts")
/** As if neither were installed. */
const withoutVitest = `data:text/javascript,${
  encodeURIComponent(`
  import { registerHooks } from "node:module"
  registerHooks({
    resolve: (name, context, next) => {
      if (/vitest/.test(name)) throw new Error(name + " is not installed")
      return next(name, context)
    }
  })`)
}`

/** What a program that calls the suite prints. */
const call = async (env: Record<string, string>) => {
  const program = `
    const { ScriptedModel, SessionStoreSuite } = await import(${JSON.stringify(testing)})
    ScriptedModel.layer([ScriptedModel.text("hello")])
    try { SessionStoreSuite.suite("s", undefined) } catch (error) { console.log(error.message + ": " + error.cause.message) }`
  const { VITEST: _, ...rest } = process.env
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--no-warnings", "--import", withoutVitest, "--input-type=module", "-e", program],
    { env: { ...rest, ...env } }
  )
  return stdout.trim()
}

const needs = "A suite needs vitest and @effect/vitest, and is called in a test file: npm i -D vitest @effect/vitest"

it("outside vitest the suite loads neither package, and says what it needs", async () => {
  assert.strictEqual(await call({}), `${needs}: no vitest runs this file`)
})

it("without @effect/vitest the suite says that it cannot be loaded", async () => {
  assert.strictEqual(await call({ VITEST: "true" }), `${needs}: @effect/vitest cannot be loaded`)
})

/** What a program that is no ES module prints. */
const required = async (program: string) => {
  const args = ["--no-warnings", "--import", withoutVitest, "--input-type=commonjs", "-e", program]
  const { VITEST: _, ...env } = process.env
  return (await promisify(execFile)(process.execPath, args, { env })).stdout.trim()
}

it("a program that is no ES module can require fiberloop/testing", async () => {
  const program = `console.log(typeof require(${JSON.stringify(testing)}).ScriptedModel.layer)`
  assert.strictEqual(await required(program), "function")
})

it.live("a bundle that is no ES module, where import.meta is empty, can hold fiberloop/testing", () =>
  Effect.gen(function*() {
    const dir = yield* temporaryFolder
    const said = yield* Effect.promise(async () => {
      // a bundle for browsers: one for Node gets an import.meta of its own from rolldown
      const bundle = await rolldown({ input: testing, platform: "browser", external: /^node:/, logLevel: "silent" })
      await bundle.write({ dir, format: "cjs", entryFileNames: "bundle.cjs", chunkFileNames: "[name].cjs" })
      await bundle.close()
      return required(`console.log(typeof require(${JSON.stringify(join(dir, "bundle.cjs"))}).ScriptedModel.layer)`)
    })
    assert.strictEqual(said, "function")
  }).pipe(Effect.scoped))

it.effect("a store that does what it must refuse fails the test in words, at the line of the request", () =>
  Effect.gen(function*() {
    for (const given of [undefined, { sessionId: "s" }]) {
      const exit = yield* Effect.exit(Fixtures.tagOf(Effect.succeed(given)))
      assert.isTrue(Exit.isFailure(exit))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.instanceOf(error, Error)
      assert.match(error.message, /^The store did what it has to refuse/)
      assert.match(error.stack ?? "", /SessionStoreSuite\.test\.ts/)
    }
  }))

suite("a store and sessions that are instances of classes", ClassStore.layer)
