/** What the model is told about the wanted answer, before it gives one and after a wrong one. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as FinalAnswer from "../../../src/loop/start/FinalAnswer.ts"

const total = FinalAnswer.make(Schema.Struct({ total: Schema.Finite }))

describe("the system message", () => {
  it("is the instructions, or empty if these are blank", () => {
    assert.strictEqual(FinalAnswer.systemText(" Add.\n", undefined), " Add.\n")
    assert.strictEqual(FinalAnswer.systemText(" \n", undefined), "")
  })

  it("asks for the schema after the instructions, or alone if these are blank", () => {
    const alone = FinalAnswer.systemText(" \n", total)
    assert.include(alone, total.schema)
    assert.strictEqual(alone, alone.trim())
    assert.strictEqual(FinalAnswer.systemText("Add.", total), `Add.\n\n${alone}`)
  })
})

describe("what is wrong with an answer", () => {
  it("names what is missing, and is nothing for an answer that fits", () => {
    assert.include(FinalAnswer.problem(total, "{\"sum\":3}"), "total")
    assert.isUndefined(FinalAnswer.problem(total, "{\"total\":3}"))
  })
})
