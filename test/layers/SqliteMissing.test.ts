/** A Node without SQLite, such as Node 20. */
import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { join } from "node:path"

const program = `
import * as Effect from "effect/Effect"
import * as SessionStoreSqlite from "./src/layers/SessionStoreSqlite.ts"
const { reason } = await Effect.runPromise(Effect.scoped(Effect.flip(SessionStoreSqlite.make({ filename: ":memory:" }))))
console.log(reason._tag, reason.message)
`

it("a Node without SQLite is refused, and the error says what is needed", { timeout: 30_000 }, async () => {
  const said = await new Promise<string>((resolve) =>
    execFile(
      process.execPath,
      ["--no-experimental-sqlite", "--input-type=module", "--eval", program],
      { cwd: join(import.meta.dirname, "../..") },
      (_, stdout, stderr) => resolve(stdout + stderr)
    )
  )
  assert.include(
    said,
    "StoreRefused SessionStoreSqlite needs the SQLite that is built into Node 22.19 and newer; this Node, " +
      `${process.version}, has none. Update Node, or use another store.`
  )
})
