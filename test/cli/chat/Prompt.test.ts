/** The prompt of a chat in a real terminal. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Terminal from "../Terminal.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

const keys = { home: "\x01", ctrlC: "\x03", ctrlD: "\x04" }

/** A chat that waits for its first message. */
const chat = Effect.fnUntraced(function*(options: Partial<Terminal.Options> = {}) {
  const terminal = yield* Terminal.start(["chat", "--model", "offline"], { cwd: yield* sandbox(), ...options })
  yield* terminal.sees("›")
  return terminal
})

describe("a signal at the prompt", () => {
  it.live("is followed by how to come back, on a line of its own", () =>
    Effect.gen(function*() {
      const { ended, kill, sees, type } = yield* chat()
      yield* type("2+2\r")
      yield* sees("\n›")
      yield* type("3*3 is")
      yield* sees("3*3 is")
      yield* kill("SIGTERM")
      const { code, screen } = yield* ended
      assert.strictEqual(code, 143)
      assert.match(screen, /\n› 3\*3 is\nCome back with: fiberloop chat [^\n]+$/)
    }))
})

describe("Ctrl-C at the prompt", () => {
  it.live("leaves all of a line that takes several rows on the screen, wherever the cursor is", () =>
    Effect.gen(function*() {
      const { ended, sees, type } = yield* chat({ columns: 30 })
      for (const key of "words that take more than one row") {
        yield* type(key)
        yield* sees(key.trim())
      }
      yield* type(keys.home)
      yield* type(keys.ctrlC)
      yield* sees("again to leave.\n›")
      yield* type(keys.ctrlD)
      assert.include((yield* ended).screen, "› words that take more than one row\nPress Ctrl-C again")
    }))
})
