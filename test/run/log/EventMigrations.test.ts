/** Steps from version to version, on events of versions that never existed. */
import { assert, describe, it } from "@effect/vitest"
import * as EventMigrations from "../../../src/run/log/EventMigrations.ts"
import * as RunEvent from "../../../src/run/RunEvent.ts"
import * as Draft from "../../support/Drafts.ts"

const place = { seq: 7, at: 70, runId: "run-1" }
const of = (_tag: string, version: number, fields: object = {}): EventMigrations.Stored => ({
  _tag,
  ...place,
  version,
  ...fields
})

/** Version 2 renames the text of a notice, version 3 gives it a kind. */
const table: EventMigrations.Steps = {
  1: { NoticeAdded: ({ words, ...rest }) => ({ ...rest, text: words }) },
  2: { NoticeAdded: (event) => ({ ...event, kind: `of ${String(event["text"])}` }) }
}

/** The text, because a golden session is compared byte by byte. */
const text = (event: object | undefined) => JSON.stringify(event)
const migrate = (event: EventMigrations.Stored, to: number, steps = table) =>
  EventMigrations.migrate(event, steps, to) as EventMigrations.Stored | undefined

describe("an older event", () => {
  it("takes the steps in order, starting from its version", () => {
    const expected = of("NoticeAdded", 3, { text: "a", kind: "of a" })
    assert.strictEqual(text(migrate(of("NoticeAdded", 1, { words: "a" }), 3)), text(expected))
    assert.strictEqual(text(migrate(of("NoticeAdded", 2, { text: "a" }), 3)), text(expected))
  })

  it("stops at the requested version", () => {
    const migrated = migrate(of("NoticeAdded", 1, { words: "a" }), 2)
    assert.strictEqual(text(migrated), text(of("NoticeAdded", 2, { text: "a" })))
  })

  it.each(["AbortRequested", "FromTomorrow", "constructor", "__proto__"])(
    "of type %s, which no step names, keeps its data",
    (type) => {
      const data = { words: { deep: [1, null] } }
      assert.strictEqual(text(migrate(of(type, 1, data), 3)), text(of(type, 3, data)))
    }
  )

  it("keeps its type, its place, its time and its run, whatever a step says", () => {
    const step = { NoticeAdded: () => ({ _tag: "Other", seq: 1, at: 1, runId: "other", version: 9, text: "a" }) }
    const migrated = migrate(of("NoticeAdded", 1), 2, { 1: step })
    assert.strictEqual(text(migrated), text(of("NoticeAdded", 2, { text: "a" })))
  })

  it("is not itself changed", () => {
    const event = Object.freeze(of("NoticeAdded", 1, { words: "a" }))
    migrate(event, 3)
    assert.deepStrictEqual(event, of("NoticeAdded", 1, { words: "a" }))
  })
})

describe("an event of the requested version", () => {
  it("is returned as it is", () => {
    const [event] = Draft.log(Draft.started("x"))
    assert.strictEqual(EventMigrations.migrate(event!, EventMigrations.steps), event)
  })
})

describe("there is no event", () => {
  it.each<readonly [string, EventMigrations.Stored, EventMigrations.Steps]>([
    ["of a newer version", of("NoticeAdded", 4), table],
    ["where a step is missing", of("NoticeAdded", 1), { 2: table[2]! }],
    ["of a version before the first", of("NoticeAdded", 0), table],
    ["between two versions", of("NoticeAdded", 1.5), table],
    ["of a version that is no number", of("NoticeAdded", NaN), table],
    ["that a step cannot take", of("NoticeAdded", 1), {
      ...table,
      1: { NoticeAdded: ({ words }) => ({ text: (words as { readonly of: string }).of }) }
    }]
  ])("%s", (_, event, steps) => {
    assert.isUndefined(migrate(event, 3, steps))
  })
})

describe("the table of this version", () => {
  it("has a step for each version before", () => {
    const versions = Array.from({ length: RunEvent.version - 1 }, (_, at) => `${at + 1}`)
    assert.deepStrictEqual(Object.keys(EventMigrations.steps), versions)
  })
})
