/** A chat that comes back to a session, in a real terminal. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OpenAiServer from "../../support/OpenAiServer.ts"
import * as Child from "../Child.ts"
import * as Replies from "../Replies.ts"
import * as Terminal from "../Terminal.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

const ctrlD = "\x04"

/** A folder with a session of these questions and answers. */
const session = Effect.fnUntraced(function*(...said: ReadonlyArray<readonly [question: string, answer: string]>) {
  const model = yield* OpenAiServer.make(...said.map(([, answer]) => Replies.says(answer)), Replies.says("More."))
  const options = { cwd: yield* sandbox(), env: Replies.env(model) }
  for (const [index, [question]] of said.entries()) {
    yield* Child.run(["run", "--model", "m", ...index === 0 ? [] : ["--session", "last"], question], options)
  }
  return options
})

/** What is on the screen of a person who comes back to the last session, and leaves at once. */
const cameBack = Effect.fnUntraced(function*(options: Terminal.Options) {
  const terminal = yield* Terminal.start(["chat", "--session", "last"], options)
  yield* terminal.sees("\n›")
  yield* terminal.type(ctrlD)
  return yield* terminal.ended
})

describe("a chat that comes back to a session", () => {
  it.live("shows the last question and its answer", () =>
    Effect.gen(function*() {
      const options = yield* session(["how are you?", "Fine."], ["and\nyour friend?", "Better.\n\nAnd you?"])
      const { screen } = yield* cameBack(options)
      assert.match(screen, /^\S+ {2}completed {2}2 turns [^\n]+\n\n> and\n> your friend\?\n\nBetter\.\n\nAnd you\?\n\n/)
      assert.notInclude(screen, "Fine.")
    }))

  it.live("shows the beginning of a long question and the end of a long answer, and says how much is left out", () =>
    Effect.gen(function*() {
      const numbered = (word: string, to: number) => Array.from({ length: to }, (_, at) => `${word} ${at + 1}`)
      const options = yield* session([numbered("ask", 9).join("\n"), numbered("say", 30).join("\n")])
      const { screen } = yield* cameBack(options)
      assert.match(screen, /\n\n> ask 1\n> ask 2\n> ask 3\n> ask 4\n… 5 more lines\n\n… 18 lines before\nsay 19\n/)
      assert.match(screen, /\nsay 30\nRead it all with: fiberloop show \S+\n\n/)
    }))

  it.live("says where an answer that was ended with Ctrl-C was cut off", () =>
    Effect.gen(function*() {
      const begun = OpenAiServer.data(OpenAiServer.delta({ content: "Once upon" }))
      const model = yield* OpenAiServer.make(OpenAiServer.open(begun))
      const options = { cwd: yield* sandbox(), env: Replies.env(model) }
      const terminal = yield* Terminal.start(["run", "--model", "m", "tell me"], options)
      yield* terminal.sees("Once upon")
      yield* terminal.type("\x03")
      yield* terminal.ended
      assert.include((yield* cameBack(options)).screen, "\n\n> tell me\n\nOnce upon\n· cut off there\n\n")
    }))

  it.live("does nothing of what a stored text would have a terminal do", () =>
    Effect.gen(function*() {
      const { bytes, screen } = yield* cameBack(yield* session(["wipe\x1b[2J it", "So \x1b]0;title\x07 be it."]))
      assert.include(screen, "> wipe\\x1b[2J it\n\nSo \\x1b]0;title\\x07 be it.\n")
      assert.notInclude(bytes, "\x1b[2J")
    }))

  it.live("shows nothing of it without a terminal", () =>
    Effect.gen(function*() {
      const options = yield* session(["how are you?", "Fine."])
      const { stderr, stdout } = yield* Child.run(["chat", "--session", "last"], options)
      assert.notInclude(stdout + stderr, "Fine.")
    }))
})

describe("a chat whose session is deleted meanwhile", () => {
  /** A chat in which something was said, whose session was then deleted. */
  const deleted = Effect.gen(function*() {
    const model = yield* OpenAiServer.make(Replies.says("Fine."), Replies.says("More."))
    const options = { cwd: yield* sandbox(), env: Replies.env(model) }
    const terminal = yield* Terminal.start(["chat", "--model", "m"], options)
    yield* terminal.sees("›")
    yield* terminal.type("how are you?\r")
    yield* terminal.sees("\n›")
    yield* Child.run(["remove", "--yes", "last"], options)
    return { ...terminal, model }
  })

  it.live("does not say how to come back to it", () =>
    Effect.gen(function*() {
      const { ended, type } = yield* deleted
      yield* type(ctrlD)
      const { code, screen } = yield* ended
      assert.strictEqual(code, 0)
      assert.notInclude(screen, "Come back with")
      assert.match(screen, /\n› \nThe session \S+ was deleted meanwhile: there is nothing to come back to\.$/)
    }))

  it.live("refuses a message, instead of answering it without what was said before", () =>
    Effect.gen(function*() {
      const { ended, model, sees, type } = yield* deleted
      yield* type("and now?\r")
      yield* sees("\n›")
      yield* type(ctrlD)
      assert.match((yield* ended).screen, /› and now\?\nfiberloop: [^\n]*was deleted meanwhile/)
      assert.strictEqual(model.requests.length, 1)
    }))

  it.live.each(["and now?", "/compact"])(
    "says how to begin another where it cannot go on: %s",
    (words) =>
      Effect.gen(function*() {
        const { ended, sees, type } = yield* deleted
        yield* type(`${words}\r`)
        yield* sees("\n›")
        yield* type(ctrlD)
        const { screen } = yield* ended
        assert.match(
          screen,
          /\nfiberloop: session "[^"]+" was deleted meanwhile: leave with Ctrl-D, and begin another with fiberloop chat --model m\n/
        )
        assert.notInclude(screen, "--session")
      })
  )
})
