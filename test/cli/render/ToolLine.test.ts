import { assert, describe, it } from "@effect/vitest"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as ToolLine from "../../../src/cli/render/ToolLine.ts"
import * as Events from "../Events.ts"

const summaries: Record<string, readonly [tool: string, result: any, words: string]> = {
  "a new file": ["write_file", { path: "a", bytes: 3, lines: 1, created: true }, "✓ created, 1 line"],
  "a replaced file": ["write_file", { path: "a", bytes: 3, lines: 2, created: false }, "✓ replaced, 2 lines"],
  "a whole file": ["read_file", { path: "a", lines: 9, from: 1, to: 9 }, "✓ 9 lines"],
  "the beginning of a file": ["read_file", { path: "a", lines: 9, from: 1, to: 5 }, "✓ lines 1-5 of 9"],
  "the end of a file": ["read_file", { path: "a", lines: 9, from: 6, to: 9 }, "✓ lines 6-9 of 9"],
  "an edit": ["edit_file", { path: "a", replacements: 2, diff: "" }, "✓ 2 replacements"],
  "a command": ["run_command", { exitCode: 1, durationMillis: 1, output: "a\nb\n" }, "✗ exit code 1, 2 lines"],
  "a silent command": ["run_command", { exitCode: 0, durationMillis: 1, output: "" }, "✓ exit code 0, no output"],
  "a killed command": [
    "run_command",
    { exitCode: null, signal: "SIGKILL", output: "" },
    "✗ ended by SIGKILL, no output"
  ],
  "a command whose output is cut": [
    "run_command",
    { exitCode: 0, outputSize: 40_000, output: "y\n… [10 of 40000 characters left out] …\ny" },
    "✓ exit code 0, output cut, it has 40000 characters"
  ],
  "a command that wrote what looks cut": [
    "run_command",
    { exitCode: 0, output: "y\n… [10 of 40000 characters left out] …\ny" },
    "✓ exit code 0, 3 lines"
  ],
  "a slow command": [
    "run_command",
    { exitCode: null, signal: "SIGTERM", timedOut: true, output: "" },
    "✗ out of time, no"
  ],
  "a slow command that exits well when it is ended": [
    "run_command",
    { exitCode: 0, timedOut: true, output: "" },
    "✗ out of time, no"
  ]
}

describe("the outcome of a call", () => {
  for (const [what, [tool, result, words]] of Object.entries(summaries)) {
    it(`names ${what}`, () => {
      const line = ToolLine.settled(Events.settled(tool, { _tag: "Succeeded", result }), {}, Paint.plain)
      assert.include(line, words)
    })
  }

  it("is the result itself up to 60 characters, else how many it has", () => {
    const line = (result: string) =>
      ToolLine.settled(Events.settled("pay", { _tag: "Succeeded", result }), {}, Paint.plain)
    assert.include(line("x".repeat(60)), `✓ ${"x".repeat(60)} `)
    assert.include(line("x".repeat(61)), "✓ 61 characters ")
  })

  it("names the hook that gave the result in place of the tool", () => {
    const settled = Events.settled("pay", { _tag: "Succeeded", result: "known" })
    assert.include(ToolLine.settled({ ...settled, hook: "cache" }, {}, Paint.plain), "✓ known  by the hook cache")
    assert.notInclude(ToolLine.settled(settled, {}, Paint.plain), "hook")
  })
})

it("quotes the name of an argument that could be read as several", () => {
  assert.strictEqual(
    ToolLine.call("pay", { amount: 9, "to=\"ann\" cc": "bob" }),
    "pay amount=9 \"to=\\\"ann\\\" cc\"=\"bob\""
  )
})

it("says whether it leaves out some of the arguments", () => {
  const params = (length: number) => ({ a: "x".repeat(length) })
  for (const [given, isCut] of [[params(66), false], [params(67), true], [{}, false], [undefined, false]] as const) {
    assert.strictEqual(ToolLine.call("pay", given).endsWith("…"), isCut)
    assert.strictEqual(ToolLine.isCut(given), isCut)
  }
})
