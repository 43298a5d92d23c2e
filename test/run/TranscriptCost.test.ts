/** Appending costs what the event costs, however long the log: the elements copied or walked over are counted. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Draft from "../support/Drafts.ts"

const many = <A>(n: number, make: (i: number) => A) => Array.from({ length: n }, (_, i) => make(i))

const turns = (n: number) =>
  many(n / 4, (i) => [
    Draft.turnStarted(i + 1),
    Draft.assistant([Message.text("let me see"), Draft.call("search")], { turn: i + 1 }),
    Draft.settled(`${i + 1}.0`, "found"),
    Draft.turnFinished(i + 1)
  ]).flat()

const shapes: Record<string, (n: number) => ReadonlyArray<RunEvent.Draft>> = {
  "turns with a call": turns,
  "inputs in a row": (n) => many(n, () => Draft.input("more")),
  "inputs during one call": (n) => [Draft.turnStarted(1), ...many(n, () => Draft.input("more")), Draft.turnFinished(1)],
  "calls of one message": (n) => [
    Draft.assistant(many(n, () => Draft.call("search"))),
    ...many(n, (i) => Draft.settled(`1.${i}`, "found")),
    Draft.turnFinished(1)
  ]
}

/** How many elements `work` copies or walks over, by any method of arrays and maps. */
const touched = (work: () => void): number => {
  let count = 0
  const restore: Array<() => void> = []
  const watch = (proto: object, name: PropertyKey, size: (self: never) => number) => {
    const descriptor = Object.getOwnPropertyDescriptor(proto, name)!
    const original = descriptor.value as (...args: ReadonlyArray<unknown>) => unknown
    const value = function(this: never) {
      count += size(this)
      return original.apply(this, arguments as never)
    }
    Object.defineProperty(proto, name, { ...descriptor, value })
    restore.push(() => Object.defineProperty(proto, name, descriptor))
  }
  const walks = ["slice", "concat", "map", "filter", "flatMap", "find", "findIndex", "some", "every", "reduce"]
  for (const name of [...walks, Symbol.iterator]) watch(Array.prototype, name, (self: Array<unknown>) => self.length)
  for (const name of ["forEach", Symbol.iterator]) {
    watch(Map.prototype, name, (self: Map<unknown, unknown>) => self.size)
  }
  try {
    work()
  } finally {
    for (const back of restore) back()
  }
  return count
}

/** What an event may touch: its own few parts, a path down a tree of maps. Copying a log would touch thousands. */
const perEvent = 100

describe("folding 4,000 events touches few elements for each,", () => {
  it.each(Object.keys(shapes))("into a transcript, in %s", (name) => {
    const log = Draft.log(Draft.started("hello"), ...shapes[name]!(4000))
    assert.isBelow(touched(() => Transcript.fromLog(log)) / log.length, perEvent)
  })

  it.each(["turns with a call", "inputs in a row", "inputs during one call"])("into a state, in %s", (name) => {
    const log = Draft.log(Draft.started("hello"), ...shapes[name]!(4000))
    const fold = () => {
      let state = RunState.empty
      for (let i = 0; i < log.length; i++) state = RunState.evolve(state, log[i]!)
    }
    assert.isBelow(touched(fold) / log.length, perEvent)
  })

  it("and appending after them touches no more", () => {
    const start = Transcript.fromLog(Draft.log(Draft.started("hello"), ...turns(4000)))
    const more = Draft.log(...turns(400))
    const count = touched(() => {
      let transcript = start
      for (let i = 0; i < more.length; i++) transcript = Transcript.append(transcript, more[i]!)
    })
    assert.isBelow(count / more.length, perEvent)
  })
})
