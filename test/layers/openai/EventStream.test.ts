/** Where the network cuts a stream makes no difference to what is read of it. */
import { assert, it } from "@effect/vitest"
import * as EventStream from "../../../src/layers/openai/EventStream.ts"

const whole = ["", ": ping", "", "data: {\"a\":[1,{\"b\":2}]}", "", "data: <b>", "", "data: [DONE]", ""].join("\r\n")

/** What is read of these pieces, one after the other. */
const read = (...pieces: ReadonlyArray<string>) => {
  const events: Array<string> = []
  const stream = EventStream.make(({ data }) => events.push(data))
  for (const piece of pieces) assert.isTrue(stream.push(piece))
  stream.end()
  return { events, document: stream.document() }
}

it("events are the same wherever the stream is cut in three", () => {
  const expected = { events: ["{\"a\":[1,{\"b\":2}]}", "<b>", "[DONE]"], document: undefined }
  for (let first = 0; first <= whole.length; first++) {
    for (let second = first; second <= whole.length; second++) {
      const pieces = [whole.slice(0, first), whole.slice(first, second), whole.slice(second)]
      assert.deepStrictEqual(read(...pieces), expected, JSON.stringify(pieces))
    }
  }
})
