/** Where the suite of session stores can be loaded, and where it can be called. What it says is for the stores that pass it. */
import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"

const testing = join(import.meta.dirname, "../../src/testing/index.ts")
/** As where neither is installed. */
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

/** What a program says of the suite that it calls. */
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

it("outside of vitest nothing of it is loaded, and the suite says what it needs", async () => {
  assert.strictEqual(await call({}), `${needs}: no vitest runs this file`)
})

it("where @effect/vitest is not installed the suite says so", async () => {
  assert.strictEqual(await call({ VITEST: "true" }), `${needs}: @effect/vitest cannot be loaded`)
})
