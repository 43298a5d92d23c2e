/** A conversation that is put aside with Ctrl-Z, in a shell that brings it back. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Terminal from "./Terminal.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

/** Starts a job, and brings it back once Enter was pressed. */
const shell = ["sh", "-mc", "\"$@\"; echo stopped; read line; fg; echo ended with $?; exit", "sh"] as const
const marks = { on: "\x1b[?2004h", off: "\x1b[?2004l" }

const broughtBack = Effect.gen(function*() {
  const chat = yield* Terminal.start(["chat", "--model", "offline"], { cwd: yield* sandbox(), through: shell })
  yield* chat.sees("›")
  yield* chat.type("20 + \x1a")
  yield* chat.sees("stopped")
  yield* chat.type("\r")
  yield* chat.sees("› 20 +")
  yield* chat.type("3\r")
  yield* chat.sees("›")
  yield* chat.type("\x04")
  return yield* chat.ended
})

describe("Ctrl-Z at the prompt", () => {
  it.live("keeps the conversation and the line for later", () =>
    Effect.gen(function*() {
      const { screen } = yield* broughtBack
      assert.include(screen, "20 + 3 = 23")
      assert.match(screen, /Come back with: fiberloop chat[^\n]*\nended with 0/)
    }))

  it.live("leaves the shell a terminal that does not mark what is pasted", () =>
    Effect.gen(function*() {
      const { bytes } = yield* broughtBack
      const [before = "", after = ""] = bytes.split("stopped")
      assert.isAbove(before.lastIndexOf(marks.off), before.lastIndexOf(marks.on))
      assert.isBelow(after.indexOf(marks.on), after.indexOf("20 + 3 = 23"))
      assert.include(after, marks.on)
    }))
})
