/** Words in commands that are shown in order to be typed. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as ShellWord from "../../../src/cli/render/ShellWord.ts"
import * as TerminalText from "../../../src/cli/render/TerminalText.ts"

const words = [
  "sessions.db",
  "",
  "two words",
  "it's \"q\" \\ $HOME `x`",
  "\u001b[31mred",
  "two\nlines\tand 'quotes' \"\\\"",
  "abc\u202ecba \u009b é 🦆"
]

describe("a word in a command", () => {
  for (const word of words) {
    it(`is read back by a shell, and safe to show: ${JSON.stringify(word)}`, () => {
      const shown = ShellWord.of(word)
      assert.strictEqual(TerminalText.line(shown), shown)
      const env = { ...process.env, LC_ALL: "C.UTF-8" }
      assert.strictEqual(execFileSync("bash", ["-c", `printf %s ${shown}`], { encoding: "utf8", env }), word)
    })
  }
})
