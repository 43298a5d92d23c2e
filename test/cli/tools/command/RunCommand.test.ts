import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { MaxOutput } from "../../../../src/cli/tools/command/RunCommand.ts"
import { ResultLimit } from "../../../../src/layers/ToolExecutorToolkit.ts"
import { temporaryFolder } from "../../../support/Processes.ts"
import { sandbox } from "../files/Sandbox.ts"
import { call, refusal, run, textOf } from "../write/Calls.ts"

const sh = (script: string, ...args: ReadonlyArray<string>) => ({
  command: ["sh", "-c", script, "sh", ...args] as const
})

describe("run_command", () => {
  it.effect("returns what a command wrote and its exit code", () =>
    Effect.gen(function*() {
      const { durationMillis, ...result } = yield* run(yield* sandbox(), { command: ["echo", "hello"] })
      assert.deepStrictEqual(result, { exitCode: 0, output: "hello\n" })
      assert.strictEqual(durationMillis, 0)
    }))

  it.effect("an exit code other than 0 is a result", () =>
    Effect.gen(function*() {
      const { exitCode, output } = yield* run(yield* sandbox(), sh("echo no >&2; exit 3"))
      assert.deepStrictEqual([exitCode, output], [3, "no\n"])
    }))

  it.effect("the signal that ended it is a result", () =>
    Effect.gen(function*() {
      const { exitCode, signal } = yield* run(yield* sandbox(), sh("kill -KILL $$"))
      assert.deepStrictEqual([exitCode, signal], [null, "SIGKILL"])
    }))

  it.effect("no shell reads the arguments", () =>
    Effect.gen(function*() {
      const args = ["$HOME", "*", ";", "a b", "", "'", "\n", "-n", "é"]
      const { output } = yield* run(yield* sandbox({ a: "" }), { command: ["printf", "%s|", ...args] })
      assert.strictEqual(output, args.map((arg) => `${arg}|`).join(""))
    }))

  it.effect("both outputs come in the order in which they were written", () =>
    Effect.gen(function*() {
      const { output } = yield* run(
        yield* sandbox(),
        sh("for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done")
      )
      assert.strictEqual(output, Array.from({ length: 9 }, (_, i) => `out ${i + 1}\nerr ${i + 1}\n`).join(""))
    }))

  it.effect("a script can open its outputs by name", () =>
    Effect.gen(function*() {
      const { output } = yield* run(yield* sandbox(), sh("echo a > /dev/stderr; echo b > /dev/stdout"))
      assert.strictEqual(output, "a\nb\n")
    }))

  it.effect("what was written last is included", () =>
    Effect.gen(function*() {
      const { output } = yield* run(yield* sandbox(), sh("head -c 60000 /dev/zero | tr '\\0' x; echo; printf last"))
      assert.isTrue(output.endsWith("x\nlast"))
    }))

  it.effect("standard input is empty", () =>
    Effect.gen(function*() {
      const { exitCode, output } = yield* run(yield* sandbox(), { command: ["cat"] })
      assert.deepStrictEqual([exitCode, output], [0, ""])
    }))

  it.effect("runs in the root folder", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { output } = yield* run(root, sh("pwd; pwd -P; echo $PWD"))
      assert.strictEqual(output, `${root}\n${root}\n${root}\n`)
    }))

  it.effect("runs in a folder below the root, and finds programs there", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/tool": "#!/bin/sh\npwd\n", link: { link: "a" } })
      chmodSync(join(root, "a/tool"), 0o755)
      const { output } = yield* run(root, { command: ["./tool"], cwd: "link" })
      assert.strictEqual(output, `${root}/a\n`)
    }))

  it.effect("changes the files that the command changes", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* run(root, { command: ["touch", "new.txt"] })
      assert.strictEqual(textOf(root, "new.txt"), "")
    }))

  it.effect("hides keys from the command", () =>
    Effect.gen(function*() {
      yield* Effect.acquireRelease(
        Effect.sync(() => Object.assign(process.env, { OPENAI_API_KEY: "sk-secret", MY_TOKEN: "sk-secret" })),
        () =>
          Effect.sync(() => {
            delete process.env.OPENAI_API_KEY
            delete process.env.MY_TOKEN
          })
      )
      const { output } = yield* run(yield* sandbox(), { command: ["env"] })
      assert.include(output, "PATH=")
      assert.notInclude(output, "sk-secret")
      const known = /^(PATH|HOME|USER|SHELL|TERM|TMPDIR|TZ|LANG|LC_[A-Z]+|PWD|FIBERLOOP_COMMAND)=/
      assert.deepStrictEqual(output.split("\n").filter((line) => line !== "" && !known.test(line)), [])
    }))

  it.effect("starts nothing of the project to hear the command, whatever its PATH", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "bin/mkfifo": "#!/bin/sh\nenv > \"$0.seen\"\nexec /usr/bin/mkfifo \"$@\"\n" })
      chmodSync(join(root, "bin/mkfifo"), 0o755)
      const path = process.env.PATH
      yield* Effect.acquireRelease(
        Effect.sync(() => void (process.env.PATH = `${join(root, "bin")}:${path}`)),
        () => Effect.sync(() => void (process.env.PATH = path))
      )
      const { output } = yield* run(root, { command: ["echo", "hello"] })
      assert.strictEqual(output, "hello\n")
      assert.isFalse(existsSync(join(root, "bin/mkfifo.seen")))
    }))
})

describe("a long output", () => {
  it.effect("is cut to head and tail, and the command continues", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const result = yield* call(
        root,
        "run_command",
        sh("echo first; yes | head -c 20000000; echo last; echo done > done.txt")
      )
      const { exitCode, note, output, outputSize } = result.encodedResult as {
        readonly exitCode: number
        readonly note: string
        readonly outputSize: number
        readonly output: string
      }
      assert.deepStrictEqual([exitCode, outputSize], [0, 20_000_011])
      assert.match(output, /^first\ny\n[y\n]*\n… \[\d+ of 20000011 characters left out\] …\n[y\n]*\nlast\n$/)
      assert.include(note, "The output is cut")
      assert.strictEqual(textOf(root, "done.txt"), "done\n")
      const size = JSON.stringify(result.encodedResult).length
      assert.isTrue(size > 28_000 && size <= 30_000, String(size))
    }))

  it.effect("with much to escape in JSON is no larger than an executor accepts", () =>
    Effect.gen(function*() {
      const result = yield* call(yield* sandbox(), "run_command", sh("head -c 100000 /dev/zero | tr '\\0' '\\033'"))
      assert.isAtMost(JSON.stringify(result.encodedResult).length, yield* ResultLimit)
    }))

  it.effect("that just fits is kept whole, and is cut when it is a character longer", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const short = (text: string) => Effect.provideService(run(root, { command: ["printf", text] }), MaxOutput, 10)
      const { note, output, outputSize } = yield* short("0123456789")
      assert.deepStrictEqual([output, outputSize, note], ["0123456789", undefined, undefined])
      assert.strictEqual((yield* short("0123456789a")).outputSize, 11)
    }))
})

describe("an output that is not text", () => {
  it.effect("is shown as far as it is text", () =>
    Effect.gen(function*() {
      const { note, output } = yield* run(yield* sandbox(), { command: ["printf", "a\\377b\\000c\\303\\251\\033"] })
      assert.strictEqual(output, "a\ufffdb\ufffdcé\u001b")
      assert.strictEqual(note, "Some of the output is no UTF-8 text and is shown as \ufffd.")
    }))
})

/** A folder for temporary files that nobody else uses. */
const ownTmpdir = Effect.gen(function*() {
  const folder = yield* temporaryFolder
  const before = process.env.TMPDIR
  yield* Effect.acquireRelease(
    Effect.sync(() => process.env.TMPDIR = folder),
    () =>
      Effect.sync(() => {
        if (before === undefined) delete process.env.TMPDIR
        else process.env.TMPDIR = before
      })
  )
  return folder
})

describe("a command that cannot start", () => {
  it.effect.each(
    [
      [["no-such-program"], "NotFound", "\"no-such-program\" was not found"],
      [["git status"], "NotFound", "The first word is the program"],
      [["./missing"], "NotFound", "\"./missing\" was not found"],
      [
        ["./file.txt"],
        "PermissionDenied",
        "\"./file.txt\" is not a program that this user may run (EACCES). Choose another one."
      ],
      [["./folder"], "PermissionDenied", "\"./folder\" is not a program"],
      [["./file.txt/tool"], "NotStarted", "could not be started (ENOTDIR). Check its name."],
      [["./script"], "NotFound", "or what its first line names is missing"],
      [["echo", "x".repeat(3_000_000)], "NotStarted", "The arguments of \"echo\" are too long"],
      [["echo", "a\0b"], "InvalidCommand", "Word 2 of the command has a NUL character"],
      [["\ud800"], "InvalidCommand", "Word 1 of the command"],
      [["", "a"], "InvalidCommand", "The first word, the program, is empty"]
    ] as const
  )("%j is refused in words", ([command, reason, message]) =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "file.txt": "x", "folder/file.txt": "", script: "#!/no/such/interpreter\n" })
      chmodSync(join(root, "script"), 0o755)
      const refused = yield* refusal(root, "run_command", { command })
      assert.strictEqual(refused.reason, reason)
      assert.include(refused.message, message)
    }))

  it.effect.each(
    [
      ["..", "OutsideRoot", "\"..\" is not below the root folder"],
      ["missing", "NotFound", "\"missing\""],
      ["file.txt", "NotAFolder", "\"file.txt\""]
    ] as const
  )("is refused in words because of its folder %s", ([cwd, reason, words]) =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "file.txt": "x" })
      const refused = yield* refusal(root, "run_command", { command: ["pwd"], cwd })
      assert.strictEqual(refused.reason, reason)
      assert.include(refused.message, words)
    }))

  it.effect("given as an empty list does not fit the parameters", () =>
    Effect.gen(function*() {
      const result = yield* call(yield* sandbox(), "run_command", { command: [] as never })
      assert.deepInclude(result, { isFailure: true, failureOrigin: "parameters" })
    }))

  it.effect.runIf(process.platform === "linux")(
    "leaves nothing open or behind, like any other",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox()
        const temporary = yield* ownTmpdir
        const state = () => [readdirSync("/proc/self/fd").length, readdirSync(temporary), process.listenerCount("exit")]
        yield* run(root, { command: ["true"] })
        const before = state()
        yield* run(root, { command: ["true"] })
        yield* refusal(root, "run_command", { command: ["no-such-program"] })
        assert.deepStrictEqual(state(), before)
      })
  )
})
