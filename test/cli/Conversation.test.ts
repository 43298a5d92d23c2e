/** A conversation in a real terminal, and what can be done with it afterwards: the command as a person sees it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import * as Replies from "./Replies.ts"
import * as Terminal from "./Terminal.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

const edit = ["edit_file", { path: "list.md", oldText: "milk", newText: "oat milk" }] as const
const remove = ["run_command", { command: ["rm", "list.md"] }] as const
const half = OpenAiServer.open(OpenAiServer.data(OpenAiServer.delta({ content: "Once upon" })))
const ctrl = { c: "\x03", d: "\x04" }

/** A folder with a provider for it. */
const place = Effect.fnUntraced(function*(...replies: ReadonlyArray<OpenAiServer.Reply>) {
  const cwd = yield* sandbox({ "list.md": "# Buy\n\nmilk\n" })
  const model = yield* OpenAiServer.make(...replies)
  const options = { cwd, env: Replies.env(model) }
  return {
    ...options,
    model,
    start: (...args: ReadonlyArray<string>) => Terminal.start(args, options),
    run: (...args: ReadonlyArray<string>) => Terminal.run(args, options)
  }
})

/** Three messages: an allowed change, a denied command, and an answer cut off by Ctrl-C, which then leaves. */
const conversation = Effect.gen(function*() {
  const here = yield* place(
    Replies.calls(edit),
    Replies.says("Now it says oat milk."),
    Replies.calls(remove),
    Replies.says("Then I leave it."),
    half,
    Replies.says("Once upon a time.")
  )
  const chat = yield* here.start("chat", "--model", "m")
  yield* chat.sees("›")
  yield* chat.type("oat milk, please\r")
  yield* chat.sees("Allow?")
  yield* chat.type("y\r")
  yield* chat.sees("›")
  yield* chat.type("delete it\r")
  yield* chat.sees("Allow?")
  yield* chat.type("n, I need it\r")
  yield* chat.sees("›")
  yield* chat.type("tell a story\r")
  yield* chat.sees("Once upon")
  yield* chat.type(ctrl.c)
  yield* Deferred.await(here.model.left)
  yield* chat.sees("Press Ctrl-C again to leave.\n›")
  yield* chat.type(ctrl.c)
  const { code, screen } = yield* chat.ended
  return { ...here, code, screen, id: /chat --session (\S+)/.exec(screen)?.[1] ?? "" }
})

/** The results in the last request to the model. */
const told = (model: OpenAiServer.Server) => JSON.stringify(Replies.results(model))

describe("a conversation of three messages", () => {
  it.live("shows what it asks for, does what was allowed, and does not do what was denied", () =>
    Effect.gen(function*() {
      const { code, cwd, model, screen } = yield* conversation
      assert.strictEqual(code, 0)
      assert.include(screen, "-milk\n+oat milk\nAllow?")
      assert.include(screen, "rm list.md\nAllow?")
      assert.match(screen, /● run_command .*✗ Denied: the user said: I need it/)
      assert.match(screen, /Once upon.*\nAborting[^]*✗ aborted/)
      assert.strictEqual(readFileSync(join(cwd, "list.md"), "utf8"), "# Buy\n\noat milk\n")
      assert.include(told(model), "the user said: I need it")
    }))

  it.live("is shown with the denied call, its reason and the ends", () =>
    Effect.gen(function*() {
      const { id, run } = yield* conversation
      const { code, screen } = yield* run("show", id)
      assert.strictEqual(code, 0)
      for (
        const line of [
          "> oat milk, please",
          "✓ edit_file approved by terminal",
          "✗ run_command denied by terminal: the user said: I need it",
          "Then I leave it.",
          "> tell a story"
        ]
      ) assert.include(screen, `\n${line}\n`)
      assert.match(screen, /\n✗ .*aborted.*\n[^]*── session \S+ · 3 runs/)
    }))

  it.live("continues where it was aborted", () =>
    Effect.gen(function*() {
      const { id, model, run } = yield* conversation
      const { code, screen } = yield* run("resume", id, "--model", "m")
      assert.strictEqual(code, 0)
      assert.match(screen, /^Once upon a time\.\n✓ completed/)
      assert.include(told(model), "the user said: I need it")
    }))

  it.live("is forked, and the copy is resumed on its own", () =>
    Effect.gen(function*() {
      const { id, run } = yield* conversation
      const fork = yield* run("fork", id)
      const copy = fork.screen.split("\n")[0]!
      assert.include(fork.screen, `fiberloop resume ${copy}`)
      assert.include((yield* run("resume", copy, "--model", "m")).screen, "Once upon a time.")
      const [first, second] = [yield* run("show", copy), yield* run("show", id)]
      assert.include(first.screen, "Once upon a time.")
      assert.notInclude(second.screen, "Once upon a time.")
    }))
})

describe("a file that somebody else writes while the question about it waits", () => {
  /** What the model is told and what the file holds if the yes comes after somebody else's change. */
  const allowed = Effect.fnUntraced(function*(name: string, call: readonly [name: string, params: object]) {
    const { cwd, model, start } = yield* place(Replies.calls(call), Replies.says("I look again."))
    const chat = yield* start("chat", "--model", "m")
    yield* chat.sees("›")
    yield* chat.type("write it\r")
    yield* chat.sees("Allow?")
    writeFileSync(join(cwd, name), "milk, and the work of another\n")
    yield* chat.type("y\r")
    yield* chat.sees("I look again.")
    yield* chat.sees("\n›")
    yield* chat.type(ctrl.d)
    const { screen } = yield* chat.ended
    return { screen, result: told(model), content: readFileSync(join(cwd, name), "utf8") }
  })

  it.live("is kept if a new file was shown", () =>
    Effect.gen(function*() {
      const { content, result, screen } = yield* allowed("notes.md", [
        "write_file",
        { path: "notes.md", content: "mine\n" }
      ])
      assert.include(screen, "write_file notes.md: new file")
      assert.strictEqual(content, "milk, and the work of another\n")
      assert.include(result, "changed after it was shown")
    }))

  it.live("is kept if a diff against the older content was shown", () =>
    Effect.gen(function*() {
      const { content, result, screen } = yield* allowed("list.md", edit)
      assert.include(screen, "-milk\n+oat milk\nAllow?")
      assert.strictEqual(content, "milk, and the work of another\n")
      assert.include(result, "ChangedMeanwhile")
    }))
})

describe("Ctrl-C at a question", () => {
  it.live("is not a yes: the answer is aborted and nothing runs", () =>
    Effect.gen(function*() {
      const { cwd, start } = yield* place(Replies.calls(remove), Replies.says("Hello."))
      const chat = yield* start("chat", "--model", "m")
      yield* chat.sees("›")
      yield* chat.type("delete it\r")
      yield* chat.sees("Allow?")
      yield* chat.type(ctrl.c)
      yield* chat.sees("Press Ctrl-C again to leave.\n›")
      yield* chat.type("hi\r")
      yield* chat.sees("Hello.")
      yield* chat.sees("›")
      yield* chat.type(ctrl.d)
      const { code, screen } = yield* chat.ended
      assert.strictEqual(code, 0)
      assert.include(screen, "✗ aborted")
      assert.strictEqual(readFileSync(join(cwd, "list.md"), "utf8"), "# Buy\n\nmilk\n")
    }))
})

describe("Ctrl-C at an answer", () => {
  it.live("does not hide that the terminal closes meanwhile", () =>
    Effect.gen(function*() {
      const { cwd, start } = yield* place(half)
      const chat = yield* start("chat", "--model", "m")
      yield* chat.sees("›")
      yield* chat.type("tell a story\r")
      yield* chat.sees("Once upon")
      const store = new DatabaseSync(join(cwd, ".fiberloop/sessions.db"))
      store.exec("BEGIN EXCLUSIVE")
      yield* chat.type(ctrl.c)
      yield* chat.sees("Aborting the run")
      yield* chat.kill("SIGHUP")
      store.close()
      const { code, screen } = yield* chat.ended
      assert.strictEqual(code, 129)
      assert.include(screen, "✗ aborted")
    }))
})

describe("a question that was open when its process was killed", () => {
  it.live("is asked again by fiberloop resume, and its answer counts", () =>
    Effect.gen(function*() {
      const { cwd, start } = yield* place(Replies.calls(remove), Replies.says("It is gone."))
      const killed = yield* start("run", "--model", "m", "delete the list")
      yield* killed.sees("Allow?")
      yield* killed.kill("SIGKILL")
      yield* killed.ended
      const resumed = yield* start("resume", "last", "--model", "m")
      yield* resumed.sees("Allow?")
      yield* resumed.type("y\r")
      const { code, screen } = yield* resumed.ended
      assert.deepStrictEqual([code, existsSync(join(cwd, "list.md"))], [0, false])
      assert.include(screen, "It is gone.")
    }))
})

describe("fiberloop resume at a terminal", () => {
  it.live("continues a conversation that left nothing open", () =>
    Effect.gen(function*() {
      const { model, run, start } = yield* place(Replies.says("Hello."), Replies.says("Still here."))
      const { screen } = yield* run("run", "--model", "m", "hi")
      const chat = yield* start("resume", /session (\S+)/.exec(screen)![1]!, "--model", "m")
      yield* chat.sees("›")
      yield* chat.type("are you there?\r")
      yield* chat.sees("›")
      yield* chat.type(ctrl.d)
      const end = yield* chat.ended
      assert.strictEqual(end.code, 0)
      assert.include(end.screen, "Still here.")
      assert.deepStrictEqual(
        model.requests[1]!.body.messages.slice(1).map(({ content }: any) => content),
        ["hi", "Hello.", "are you there?"]
      )
    }))
})

describe("what is typed while an answer is shown", () => {
  /** What becomes of a conversation if these keys are pressed in the middle of the first answer. */
  const typedAhead = Effect.fnUntraced(function*(keys: string) {
    const slow = OpenAiServer.open(
      OpenAiServer.data(OpenAiServer.delta({ content: "Once upon" }), OpenAiServer.finish("stop"))
    )
    const { model, start } = yield* place(slow, Replies.says("Hello."))
    const chat = yield* start("chat", "--model", "m")
    yield* chat.sees("›")
    yield* chat.type("tell a story\r")
    yield* chat.sees("Once upon")
    yield* chat.type(keys)
    yield* model.end
    return { ...(yield* chat.ended), messages: model.requests.map(({ body }) => body.messages.at(-1).content) }
  })

  it.live("leaves after the answer if it is Ctrl-D", () =>
    Effect.gen(function*() {
      const { code, messages, screen } = yield* typedAhead(ctrl.d)
      assert.deepStrictEqual([code, messages], [0, ["tell a story"]])
      assert.include(screen, "✓ completed")
    }))

  it.live("is the next message, even if Ctrl-D follows", () =>
    Effect.gen(function*() {
      const { code, messages, screen } = yield* typedAhead(`hi\r${ctrl.d}`)
      assert.deepStrictEqual([code, messages], [0, ["tell a story", "hi"]])
      assert.include(screen, "Hello.")
    }))
})

describe("what is typed before a question", () => {
  /** A conversation at a question, before which these keys were pressed. */
  const asked = Effect.fnUntraced(function*(keys: string) {
    const slow = OpenAiServer.open(OpenAiServer.data(
      OpenAiServer.delta({ content: "I delete it." }),
      OpenAiServer.toolCalls({
        index: 0,
        id: "call-0",
        type: "function",
        function: { name: remove[0], arguments: JSON.stringify(remove[1]) }
      }),
      OpenAiServer.finish("tool_calls")
    ))
    const here = yield* place(slow, Replies.says("It is gone."), Replies.says("Bread."))
    const chat = yield* here.start("chat", "--model", "m")
    yield* chat.sees("›")
    yield* chat.type("delete it\r")
    yield* chat.sees("I delete it.")
    yield* chat.type(keys)
    yield* here.model.end
    yield* chat.sees("Allow?")
    const messages = () =>
      here.model.requests.map(({ body }) => body.messages.at(-1)).filter(({ role }) => role === "user")
    return { ...here, chat, messages: () => messages().map(({ content }) => content) }
  })

  it.live("does not answer it, and is the next message", () =>
    Effect.gen(function*() {
      const { chat, cwd, messages } = yield* asked("y\rwhat is left?\r")
      assert.isTrue(existsSync(join(cwd, "list.md")))
      yield* chat.type("y\r")
      yield* chat.sees("Bread.")
      yield* chat.sees("\n›")
      yield* chat.type(ctrl.d)
      assert.strictEqual((yield* chat.ended).code, 0)
      assert.isFalse(existsSync(join(cwd, "list.md")))
      assert.deepStrictEqual(messages(), ["delete it", "y\nwhat is left?"])
    }))

  it.live("stays to be typed to its end if its last line was not ended", () =>
    Effect.gen(function*() {
      const { chat, cwd, messages } = yield* asked("what is left?\ry")
      yield* chat.type("\r")
      yield* chat.sees("Allow?")
      assert.isTrue(existsSync(join(cwd, "list.md")))
      yield* chat.type("y\r")
      yield* chat.sees("… y")
      yield* chat.type("es?\r")
      yield* chat.sees("Bread.")
      yield* chat.sees("\n›")
      yield* chat.type(ctrl.d)
      assert.strictEqual((yield* chat.ended).code, 0)
      assert.deepStrictEqual(messages(), ["delete it", "what is left?\nyes?"])
    }))

  it.live("is not sent after a Ctrl-C at the question", () =>
    Effect.gen(function*() {
      const { chat, messages } = yield* asked("what is left?\rand")
      yield* chat.type(ctrl.c)
      yield* chat.sees("Press Ctrl-C again to leave.\n›")
      yield* chat.type(ctrl.d)
      assert.strictEqual((yield* chat.ended).code, 0)
      assert.deepStrictEqual(messages(), ["delete it"])
    }))
})

describe("a line in the terminal", () => {
  it.live("can be edited, continues after a backslash, and comes back with Up", () =>
    Effect.gen(function*() {
      const { model, start } = yield* place(Replies.says("One."), Replies.says("Two."))
      const chat = yield* start("chat", "--model", "m")
      yield* chat.sees("›")
      yield* chat.type("firsy\x7ft\\\r")
      yield* chat.sees("…")
      yield* chat.type("second\r")
      yield* chat.sees("›")
      yield* chat.type("\x1b[A\r")
      yield* chat.sees("›")
      yield* chat.type(ctrl.d)
      assert.strictEqual((yield* chat.ended).code, 0)
      const typed = model.requests.map(({ body }) => body.messages.at(-1).content)
      assert.deepStrictEqual(typed, ["first\nsecond", "first\nsecond"])
    }))

  it.live("has no control codes on a terminal that supports none", () =>
    Effect.gen(function*() {
      const { cwd, env } = yield* place(Replies.says("One."))
      const chat = yield* Terminal.start(["chat", "--model", "m"], { cwd, env: { ...env, TERM: "dumb" } })
      yield* chat.sees("›")
      yield* chat.type("hi\r")
      yield* chat.sees("One.")
      yield* chat.sees("\n›")
      yield* chat.type(ctrl.d)
      const { bytes, code } = yield* chat.ended
      assert.strictEqual(code, 0)
      assert.notInclude(bytes, "\x1b")
    }))

  it.live("has no colours and no control codes with NO_COLOR", () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      const coloured = yield* Terminal.run(["run", "2+2"], { cwd })
      const plain = yield* Terminal.run(["run", "2+2"], { cwd, env: { NO_COLOR: "1" } })
      assert.include(coloured.bytes, "\x1b[")
      assert.notInclude(plain.bytes, "\x1b")
    }))
})
