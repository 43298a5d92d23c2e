/** Caching in a projection never shows: each equals one made from scratch. */
import { assert, it } from "@effect/vitest"
import * as Message from "../../../src/run/Message.ts"
import * as Entries from "../../../src/run/transcript/Entries.ts"
import * as Projection from "../../../src/run/transcript/Projection.ts"
import * as Vector from "../../../src/run/transcript/Vector.ts"

const ann = { provider: "p", name: "ann" }
const bob = { provider: "p", name: "bob" }

const user = (seq: number): Entries.Entry => ({ seq, from: seq, message: Message.user(`${seq}`) })

/** By `by`, who alone may read its reasoning. */
const reasoned = (seq: number, by: Message.ModelRef): Entries.Entry => {
  const text = Message.text(`${seq}`)
  const message = { role: "assistant", content: [{ type: "reasoning", text: "because" }, text] } as const
  return { seq, from: seq, message, reasoned: { by, without: { role: "assistant", content: [text] } } }
}

/** What `Projection.messages` returns, made from scratch. */
const anew = ({ items, length }: Vector.Vector<Entries.Entry>, reader: Message.ModelRef) => {
  const out: Array<Message.Message> = []
  for (const entry of items.slice(0, length)) Entries.addMessage(out, Entries.forReader(entry, reader))
  return out
}

/** A conversation at each of its lengths, including neighbours of one role, which become one message. */
const versions = () => {
  const made: Array<Vector.Vector<Entries.Entry>> = [Vector.empty]
  for (let seq = 1; seq <= 40; seq++) {
    made.push(Vector.append(made.at(-1)!, seq % 5 < 2 ? user(seq) : reasoned(seq, seq % 3 === 0 ? ann : bob)))
  }
  return made
}

it("a growing conversation is projected for the same reader as if from scratch", () => {
  for (const version of versions()) assert.deepStrictEqual(Projection.messages(version, ann), anew(version, ann))
})

it("another reader sees nothing that was kept for the one before", () => {
  for (const version of versions()) {
    for (const reader of [ann, bob]) assert.deepStrictEqual(Projection.messages(version, reader), anew(version, reader))
  }
})

it("an older version is projected as before", () => {
  const all = versions()
  Projection.messages(all.at(-1)!, ann)
  for (const version of all) assert.deepStrictEqual(Projection.messages(version, ann), anew(version, ann))
})

it("what a caller does to the messages does not affect the next", () => {
  const version = versions().at(-1)!
  Projection.messages(version, ann).splice(0, 3)
  assert.deepStrictEqual(Projection.messages(version, ann), anew(version, ann))
})
