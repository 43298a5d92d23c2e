/** docs/troubleshooting.md shows what its scripts and commands show: every symptom is there, with its numbers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { invoke } from "../cli/Invoke.ts"
import { temporaryFolder } from "../support/Processes.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const guide = readFileSync(join(root, "docs/troubleshooting.md"), "utf8")

interface Shown {
  readonly words: ReadonlyArray<string>
  readonly output: string
}

/** The commands of a section with what it shows of their output, in order. */
const shownIn = (section: string): ReadonlyArray<Shown> =>
  [...section.matchAll(/^```console\n([^]*?)^```$/gm)]
    .flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1))
    .map((part) => {
      const [command = "", ...output] = part.split("\n")
      return { words: command.split(" "), output: output.join("\n") }
    })

const sections = guide.split(/^## /m).slice(1).map((text) => ({
  title: text.slice(0, text.indexOf("\n")),
  commands: shownIn(text)
}))

/** An example as a reader starts it, in its own process. */
const node = (script: string, folder: string) =>
  Effect.promise(() =>
    new Promise<string>((resolve, reject) =>
      execFile(
        process.execPath,
        [
          "--disable-warning=ExperimentalWarning",
          "--import",
          join(root, "test/examples/Source.ts"),
          join(root, script)
        ],
        { cwd: folder },
        (error, stdout) => error === null ? resolve(stdout) : reject(error)
      )
    )
  )

const run = Effect.fnUntraced(function*({ words }: Shown, folder: string) {
  const [program, script = "", ...rest] = words
  if (program === "node") return yield* node(script, folder)
  const at = rest.indexOf("--db") + 1
  const { code, stderr, stdout } = yield* invoke(rest.with(at, join(folder, rest[at]!)))
  assert.deepStrictEqual([code, stderr], [0, ""], words.join(" "))
  return stdout.replaceAll(`${folder}/`, "")
})

/** Without what differs between runs: times, the bars drawn from them, and ids. */
const lasting = (output: string): ReadonlyArray<string> =>
  output
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, "<date>")
    .replaceAll(/\b\d+(?:\.\d+)? (?:ms|s|min)\b/g, "<time>")
    .replaceAll(/[░█]+/g, "█")
    .replaceAll(/([▒·━≈])\1*/g, "$1")
    .replaceAll(/ {2,}/g, " ")
    .replaceAll(/<time>(?: <time>)+/g, "<time>")
    .split("\n")
    // what bars stand for is explained for those present
    .filter((line) => !/^[█▒·━≈] (?:until|its|an?) /.test(line))
    .map((line) => line.trim())
    .filter((line) => line !== "")

/** Each part between lines of `...` is in the output, in order, and nothing is missing if there is no such line. */
const check = (shown: string, output: string, command: string) => {
  const lines = lasting(output)
  if (!/^\.\.\.$/m.test(shown)) return assert.deepStrictEqual(lines, lasting(shown), command)
  let from = 0
  for (const part of shown.split(/^\.\.\.$/m).map(lasting)) {
    const at = lines.findIndex((_, index) => index >= from && part.every((line, i) => line === lines[index + i]))
    assert.notStrictEqual(at, -1, `${command} shows\n${lines.join("\n")}\nand the guide\n${part.join("\n")}`)
    from = at + part.length
  }
}

describe("docs/troubleshooting.md", () => {
  it("walks through the symptoms it lists, each with a script and the commands that show it", () => {
    assert.deepStrictEqual(sections.map(({ title }) => title), [
      "A run does not end",
      "Many retries",
      "Many compactions",
      "Growing memory"
    ])
    for (const { commands, title } of sections) {
      assert.include(guide, `](#${title.toLowerCase().replaceAll(" ", "-")})`)
      assert.deepStrictEqual(
        [...new Set(commands.map(({ words }) => words[0] === "node" ? "script" : words[2]!))],
        ["script", "stats", "show"]
      )
    }
  })

  for (const { commands, title } of sections) {
    it.live(`shows the real output: ${title}`, () =>
      Effect.gen(function*() {
        const folder = yield* temporaryFolder
        for (const shown of commands) check(shown.output, yield* run(shown, folder), shown.words.join(" "))
      }), 60_000)
  }
})
