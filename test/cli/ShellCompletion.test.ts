import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { invoke } from "./Invoke.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

/** What bash offers for the last of these words in a folder. */
const offered = (words: ReadonlyArray<string>, cwd: string) =>
  Effect.gen(function*() {
    const { code, stdout } = yield* invoke(["--completions", "bash"])
    assert.strictEqual(code, 0)
    const line = words.map((word) => `'${word}'`).join(" ")
    const asked = [
      "set +o history",
      `COMP_WORDS=(${line}) COMP_CWORD=${words.length - 1} COMP_LINE=${JSON.stringify(words.join(" "))}`,
      `COMP_POINT=\${#COMP_LINE}`,
      `_fiberloop fiberloop ${JSON.stringify(words.at(-1))} ${JSON.stringify(words.at(-2))}`,
      `printf '%s\\n' "\${COMPREPLY[@]}"`
    ]
    const output = execFileSync("bash", ["--norc", "-c", `${stdout}\n${asked.join("\n")}`], { cwd, encoding: "utf8" })
    return output.split("\n").filter((choice) => choice !== "").toSorted()
  })

describe("bash completes", () => {
  it.effect.each<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]>([
    ["commands", ["fiberloop", "re"], ["recover", "remove", "resume"]],
    ["flags", ["fiberloop", "run", "--m"], ["--max-turns", "--model"]],
    ["help of a command", ["fiberloop", "show", "--h"], ["--help"]],
    ["what stands without a command", ["fiberloop", "--"], ["--completions", "--help", "--version"]],
    ["a shell", ["fiberloop", "--completions", "f"], ["fish"]],
    ["a folder after --root", ["fiberloop", "run", "--root", "s"], ["src"]],
    ["a file after --db", ["fiberloop", "show", "--db", "s"], ["sessions.db", "src"]],
    ["the file to import", ["fiberloop", "import", "se"], ["sessions.db"]],
    ["the file that an export makes", ["fiberloop", "export", "abc", "--to", "se"], ["sessions.db"]],
    ["no file where a fork takes an id", ["fiberloop", "fork", "abc", "--to", "se"], []],
    ["no file for a session", ["fiberloop", "show", "se"], []]
  ])("%s", ([, words, choices]) =>
    Effect.gen(function*() {
      const cwd = yield* sandbox({ "src/a.ts": "", "sessions.db": "" })
      assert.deepStrictEqual(yield* offered(words, cwd), choices)
    }))
})
