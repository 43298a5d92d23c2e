/** What a server says is reported on one line, whatever it says. */
import { assert, it } from "@effect/vitest"
import * as SqlError from "effect/sql/SqlError"
import * as PgErrors from "../../../src/layers/postgres/PgErrors.ts"

it("a message of several lines is reported on one", () => {
  const cause = Object.assign(new Error("duplicate key\n  DETAIL: it is there"), { code: "23505" })
  const reason = new SqlError.UnknownError({ cause })
  const explain = PgErrors.explain({ host: "localhost:5432", database: "d", user: "u" })
  assert.include(explain(new SqlError.SqlError({ reason })).message, "(duplicate key DETAIL: it is there)")
})
