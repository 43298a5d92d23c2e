/** What a compaction does to a transcript. */
import { assert, it } from "@effect/vitest"
import * as Message from "../../../src/run/Message.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Draft from "../../support/Drafts.ts"

it("a compaction up to a future event leaves what arrives in its place", () => {
  const change = { upTo: 99, replacement: [Message.user("so far")] }
  const compacted = Transcript.compact(Transcript.fromLog(Draft.log(Draft.started("go"))), change, 2)
  assert.deepStrictEqual(Transcript.entries(compacted).map(({ seq }) => seq), [2])
})
