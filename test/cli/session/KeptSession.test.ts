import { assert, describe, it } from "@effect/vitest"
import * as KeptSession from "../../../src/cli/session/KeptSession.ts"

const ids = ["aaaaaa-1", "aaaaaa-2", "bbbbbb-1", "bbbbbb-2x", "cccccccc"]

const refusal = (typed: string, among = ids): string => {
  const found = KeptSession.match(among, typed)
  return typeof found === "string" ? assert.fail(`found ${found}`) : found.line
}

describe("the beginning of an id", () => {
  it("is enough if six characters match one session", () => {
    assert.strictEqual(KeptSession.match(ids, "cccccc"), "cccccccc")
  })

  it("is too short with five characters, and the matching sessions are named", () => {
    assert.strictEqual(refusal("ccccc"), `"ccccc" is too short, give at least 6 characters of the id: cccccccc`)
  })

  it("is refused if several sessions have it", () => {
    assert.strictEqual(
      refusal("aaaaaa"),
      `2 sessions begin with "aaaaaa", give more of the id: aaaaaa-1 or aaaaaa-2`
    )
  })

  it("names three sessions at most", () => {
    const many = Array.from({ length: 9 }, (_, n) => `aaaaaa-${n}`)
    assert.match(refusal("aaaaaa", many), /: aaaaaa-0, aaaaaa-1, aaaaaa-2 and 6 more$/)
  })
})

describe("an unknown id", () => {
  it("is answered with the ids that share most of it", () => {
    assert.strictEqual(
      refusal("bbbbbb-2y"),
      `there is no session "bbbbbb-2y" in this database, did you mean bbbbbb-2x?`
    )
  })

  it("is answered with where to look if none is similar", () => {
    assert.match(refusal("nothing"), /^there is no session "nothing" in this database: fiberloop sessions lists/)
  })
})
