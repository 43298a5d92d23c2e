/** The terminal in docs/command.md shows what a real terminal shows: same commands and keys, on a scripted provider. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import * as Replies from "./Replies.ts"
import * as Terminal from "./Terminal.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

const files = {
  "greet.js": "export const greet = (name) => `Hello ${name}!`\n",
  "greet.test.js": `import assert from "node:assert"
import { greet } from "./greet.js"

assert.equal(greet("Ada"), "Hello, Ada!")
`,
  "package.json": `{ "type": "module" }\n`
}

const model = OpenAiServer.make(
  Replies.calls(["read_file", { path: "greet.js" }], ["read_file", { path: "greet.test.js" }]),
  Replies.calls(["edit_file", { path: "greet.js", oldText: "Hello ${", newText: "Hello, ${" }]),
  Replies.calls(["run_command", { command: ["node", "greet.test.js"] }]),
  Replies.says(
    "The test expects a comma after \"Hello\" (greet.test.js:4). I added it in greet.js:1, and the test passes."
  ),
  Replies.calls(["run_command", { command: ["rm", "greet.test.js"] }]),
  Replies.says("Then it stays. Both files are as you want them.")
)

/** The part of the page from one command to the next. */
const shown = (): ReadonlyArray<{ readonly args: ReadonlyArray<string>; readonly screen: string }> => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/command.md"), "utf8")
  const block = /^```console\n([^]*?)^```$/m.exec(page)?.[1] ?? ""
  return block.split(/^\$ npx fiberloop /m).slice(1).map((part) => {
    const [command = "", ...screen] = part.split("\n")
    return { args: command.split(" "), screen: screen.join("\n").trimEnd() }
  })
}

/** What is typed after each prompt. */
const typed = (screen: string): ReadonlyArray<string> =>
  [...screen.matchAll(/^(?:Allow\?.*)?› (.+)$/gm)].map(([, line]) => line!)

/** Without what differs from run to run. */
const lasting = (screen: string): string =>
  screen
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, "<id>")
    .replaceAll(/\b\d+(?:\.\d+)? m?s\b/g, "<time>")
    .replaceAll(/ +$/gm, "")

it.live("docs/command.md shows what the command shows", () =>
  Effect.gen(function*() {
    const options = { cwd: yield* sandbox(files), env: Replies.env(yield* model) }
    const commands = shown()
    assert.deepStrictEqual(commands.map(({ args }) => args[0]), ["chat", "sessions", "fork"])
    let session = ""
    for (const { args, screen } of commands) {
      const terminal = yield* Terminal.start(
        args.map((arg) => /^[\da-f]{8}-/.test(arg) ? session : arg),
        { ...options, columns: 120 }
      )
      for (const line of typed(screen)) {
        yield* terminal.sees("›")
        yield* terminal.type(`${line}\r`)
      }
      if (args[0] === "chat") {
        yield* terminal.sees("\n›")
        yield* terminal.type("\x04")
      }
      const end = yield* terminal.ended
      assert.strictEqual(end.code, 0)
      assert.strictEqual(lasting(end.screen), lasting(screen))
      session ||= /--session (\S+)/.exec(end.screen)![1]!
    }
  }))
