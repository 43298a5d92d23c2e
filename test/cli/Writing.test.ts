/** The whole command on a real model's protocol: tools that write, who allows them, what the model is told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import { type Invocation, workplace } from "./Invoke.ts"
import * as Replies from "./Replies.ts"
import { outsideOf } from "./tools/files/Sandbox.ts"

const write = Replies.calls(["write_file", { path: "new.txt", content: "hi\n" }])

/** A run on a model that gives these replies. */
const onModel = Effect.fnUntraced(function*(
  replies: ReadonlyArray<OpenAiServer.Reply>,
  args: ReadonlyArray<string> = [],
  options: Invocation = {},
  files: Parameters<typeof workplace>[0] = {}
) {
  const model = yield* OpenAiServer.make(...replies)
  const place = yield* workplace(files)
  const end = yield* place.run(["--model", "m", "do it", ...args], { ...options, env: Replies.env(model) })
  return { ...place, ...end, model, file: join(place.root, "new.txt") }
})

describe("a change", () => {
  it.effect("is made when the person allows it, after all of it was shown", () =>
    Effect.gen(function*() {
      const { code, file, tape } = yield* onModel([write, Replies.says("Done.")], ["--no-color"], {
        isTerminal: true,
        input: ["y"]
      })
      assert.deepStrictEqual([code, readFileSync(file, "utf8")], [0, "hi\n"])
      assert.match(tape, /write_file new\.txt: new file[^\n]*\n(?:[^\n]*\n)*?\+hi\n[^]*Allow\?[^\n]* › y\n● write_file/)
      assert.include(tape, "✓ created, 1 line")
    }))

  it.effect("is not made when the person says no, and the model reads why and continues", () =>
    Effect.gen(function*() {
      const { code, file, model, stdout } = yield* onModel([write, Replies.says("As you like.")], [], {
        isTerminal: true,
        input: ["n not here"]
      })
      assert.deepStrictEqual([code, existsSync(file)], [0, false])
      assert.include(Replies.results(model)[0], "the user said: not here")
      assert.include(stdout, "As you like.")
    }))

  it.effect("is denied without a terminal, with the way out in the reason", () =>
    Effect.gen(function*() {
      const { file, model } = yield* onModel([write, Replies.says("No.")], [], { input: ["y"] })
      assert.isFalse(existsSync(file))
      assert.include(Replies.results(model)[0], "since standard input or standard error is not a terminal")
    }))

  it.effect("is made without asking with --yes, and one line says so", () =>
    Effect.gen(function*() {
      const { file, stderr } = yield* onModel([write, Replies.says("Done.")], ["--yes"])
      assert.isTrue(existsSync(file))
      assert.strictEqual(stderr.split("\n").filter((line) => line.includes("--yes allows")).length, 1)
      assert.notInclude(stderr, "Allow?")
    }))

  it.effect("is asked for once if the answer is always", () =>
    Effect.gen(function*() {
      const command = ["run_command", { command: ["true"] }] as const
      const { code, model, tape } = yield* onModel([Replies.calls(command, command), Replies.says("Ran.")], [], {
        isTerminal: true,
        input: ["a"]
      })
      assert.strictEqual(code, 0)
      assert.strictEqual(tape.split("Allow?").length, 2)
      assert.strictEqual(Replies.results(model).filter((result) => result.includes("\"exitCode\":0")).length, 2)
    }))
})

describe("a call with an argument that its tool does not know", () => {
  const params = { command: ["touch", "made.txt"], workdir: "below", timeout: 5 }

  it.effect("is not made, even with --yes, and the model reads which arguments there are", () =>
    Effect.gen(function*() {
      const { model, root } = yield* onModel([Replies.calls(["run_command", params]), Replies.says("Oh.")], ["--yes"])
      assert.isFalse(existsSync(join(root, "made.txt")))
      assert.match(
        Replies.results(model)[0]!,
        /There is no such argument: there are command, cwd, timeoutSeconds\n {2}at \["workdir"\]/
      )
    }))

  it.effect("is not what a person is asked about", () =>
    Effect.gen(function*() {
      const { tape } = yield* onModel([Replies.calls(["run_command", params]), Replies.says("Oh.")], [], {
        isTerminal: true,
        input: ["y"]
      })
      assert.notInclude(tape, "Allow?")
    }))

  it.effect("is made if that is left out, as null is for one that it knows", () =>
    Effect.gen(function*() {
      const known = { command: ["touch", "made.txt"], cwd: null, timeoutSeconds: null }
      const { root } = yield* onModel([Replies.calls(["run_command", known]), Replies.says("Done.")], ["--yes"])
      assert.isTrue(existsSync(join(root, "made.txt")))
    }))
})

describe("the model", () => {
  it.effect("is told that the tools take no other arguments", () =>
    Effect.gen(function*() {
      const { model } = yield* onModel([Replies.says("Hi.")])
      const schemas = model.requests[0]!.body.tools.map((tool: any) => tool.function.parameters)
      for (const { additionalProperties, properties } of schemas) {
        assert.isFalse(additionalProperties)
        assert.isNotEmpty(properties)
      }
    }))

  it.effect("is offered the tools that write if it is a real one", () =>
    Effect.gen(function*() {
      const { model } = yield* onModel([Replies.says("Hi.")])
      const names = model.requests[0]!.body.tools.map((tool: any) => tool.function.name)
      for (const name of ["write_file", "edit_file", "run_command", "read_file"]) assert.include(names, name)
    }))

  const told = (model: OpenAiServer.Server): string =>
    model.requests[0]!.body.messages.filter(({ role }: any) => role !== "user").map(({ content }: any) => content)
      .join()

  it.effect("is told the contents of AGENTS.md in the folder, and the user that it was read", () =>
    Effect.gen(function*() {
      const { model, stderr } = yield* onModel([Replies.says("Hi.")], [], {}, { "AGENTS.md": "Use tabs." })
      assert.include(told(model), "Use tabs.")
      assert.match(stderr, /^fiberloop: AGENTS\.md of the folder was read[^\n]*\n/)
    }))

  it.effect("is not told the contents of an AGENTS.md that is too large, and the user is told so", () =>
    Effect.gen(function*() {
      const { model, stderr } = yield* onModel([Replies.says("Hi.")], [], {}, { "AGENTS.md": "x".repeat(32_769) })
      assert.notInclude(told(model), "xxx")
      assert.include(stderr, "AGENTS.md of the folder was not read: it has more than 32 KiB")
    }))

  it.effect("is told the contents of an AGENTS.md of exactly 32 KiB", () =>
    Effect.gen(function*() {
      const { model } = yield* onModel([Replies.says("Hi.")], [], {}, { "AGENTS.md": "x".repeat(32_768) })
      assert.include(told(model), "xxx")
    }))

  it.effect("is not told the contents of an AGENTS.md that leads out of the folder", () =>
    Effect.gen(function*() {
      const model = yield* OpenAiServer.make(Replies.says("Hi."))
      const { root, run } = yield* workplace()
      yield* Effect.sync(() => symlinkSync(join(outsideOf(root), "hidden-name.txt"), join(root, "AGENTS.md")))
      const { stderr } = yield* run(["--model", "m", "hi"], { env: Replies.env(model) })
      assert.notInclude(told(model), "CANARY")
      assert.include(stderr, "AGENTS.md of the folder was not read")
    }))
})
