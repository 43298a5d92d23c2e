/** Conversations in this process, on scripted input. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import type { Signal, Signals } from "../../../src/cli/terminal/Signals.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"
import * as OpenAiServer from "../../support/OpenAiServer.ts"
import * as Child from "../Child.ts"
import { type Invocation, workplace } from "../Invoke.ts"
import type { Script } from "../Keyboard.ts"
import * as Replies from "../Replies.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

const chat = Effect.fnUntraced(function*(input: Script, args: ReadonlyArray<string> = [], options: Invocation = {}) {
  const place = yield* workplace({ "a.txt": "one\n" })
  const talk = (input: Script, args: ReadonlyArray<string> = [], look: Invocation = {}) =>
    place.on("chat", ["--root", place.root, "--no-color", ...args], { ...options, ...look, input })
  const end = yield* talk(input, args)
  const sessions = SessionStore.SessionStore.use((store) => store.list()).pipe(Effect.provide(place.store))
  return { ...place, ...end, talk, sessions, id: /--session (\S+)/.exec(end.stderr)?.[1] }
})

const interrupted = { _tag: "Interrupted", wasEmpty: true } as const

describe("without a terminal", () => {
  it.effect("every line is a message of one session, and the end of the input ends the chat", () =>
    Effect.gen(function*() {
      const { code, sessions, stdout } = yield* chat(["2+2", "", "3*3"])
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n3*3 = 9\n"])
      assert.deepStrictEqual((yield* sessions).map(({ turns }) => turns), [4])
    }))

  it.effect("the chat says how to come back, and continues from there", () =>
    Effect.gen(function*() {
      const { id, sessions, stderr, talk } = yield* chat(["2+2"])
      assert.match(stderr, /\nCome back with: fiberloop chat --session \S+ --root \S+ --db \S+\n$/)
      yield* talk(["3*3"], ["--session", id!])
      assert.deepStrictEqual((yield* sessions).map(({ turns }) => turns), [4])
    }))

  it.effect("the chat says how to come back to an existing session, even if nothing was said", () =>
    Effect.gen(function*() {
      const { id, talk } = yield* chat(["2+2"])
      const { code, stderr } = yield* talk([], ["--session", id!])
      assert.strictEqual(code, 0)
      assert.include(stderr, `Come back with: fiberloop chat --session ${id} `)
    }))

  it.effect("the chat leaves no session if nothing was said", () =>
    Effect.gen(function*() {
      const { code, sessions, stderr } = yield* chat([])
      assert.deepStrictEqual([code, yield* sessions], [0, []])
      assert.notInclude(stderr, "Come back")
    }))

  it.effect("a message that fails does not end the chat, and the last message decides the code", () =>
    Effect.gen(function*() {
      const good = yield* chat(["write a poem", "2+2"])
      assert.deepStrictEqual([good.code, good.stdout], [0, "2+2 = 4\n"])
      assert.strictEqual((yield* chat(["2+2", "write a poem"])).code, 1)
    }))

  it.effect("a blank line is not a message", () =>
    Effect.gen(function*() {
      const { code, sessions, stdout } = yield* chat(["2+2", "", "  "])
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n"])
      assert.deepStrictEqual((yield* sessions).map(({ turns }) => turns), [2])
    }))

  it.effect("the chat stops quietly when nobody reads its output any more", () =>
    Effect.gen(function*() {
      const { code, sessions, stderr } = yield* chat(["2+2", "3*3"], [], { closesAt: 0 })
      assert.strictEqual(code, 141)
      assert.deepStrictEqual((yield* sessions).map(({ turns }) => turns < 3), [true])
      assert.notInclude(stderr, "cannot be written")
    }))

  it.effect("neither a greeting nor a prompt is written when nobody types", () =>
    Effect.gen(function*() {
      const { tape } = yield* chat(["2+2"])
      assert.notInclude(tape, "Ctrl-")
      assert.notInclude(tape, "\n\n")
    }))

  it.effect("a signal that arrives as an answer completes ends the chat with its code, and nothing more is read", () =>
    Effect.gen(function*() {
      const signal = yield* Deferred.make<Signal>()
      const { code, stdout } = yield* chat(["2+2", "3*3"], [], {
        signals: { first: Deferred.await(signal), forget: Effect.void },
        onError: (text) => text.includes("✓ completed") && Deferred.doneUnsafe(signal, Effect.succeed("SIGTERM"))
      })
      assert.deepStrictEqual([code, stdout], [143, "2+2 = 4\n"])
    }))

  it.effect("Ctrl-C ends the whole chat", () =>
    Effect.gen(function*() {
      const model = yield* OpenAiServer.make(OpenAiServer.open(), Replies.says("Hi."))
      const { code, stdout } = yield* chat(["hang", "hello"], ["--model", "m"], {
        signals: ctrlC(Deferred.await(model.received)),
        env: Replies.env(model)
      })
      assert.deepStrictEqual([code, stdout], [130, ""])
    }))

  it.effect("--json prints every event of all messages as a line of JSON, and nothing else", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* chat(["2+2", "3*3"], ["--json"])
      const events = stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      const ends = events.flatMap(({ _tag }, at) => _tag === "RunCompleted" ? [at] : [])
      assert.deepStrictEqual([code, ends.length, ends[1]], [0, 2, events.length - 1])
      assert.strictEqual(new Set(events.map(({ sessionId }) => sessionId)).size, 1)
    }))

  it.effect("/compact shortens the conversation there, too, and is not a message", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* chat(["2+2", "3*3", "/compact"])
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n3*3 = 9\n"])
      assert.include(stderr, "✓ the conversation was shortened from 8 to 5 messages")
    }))

  it.effect("a failing /compact decides the code if it is the last line", () =>
    Effect.gen(function*() {
      const alone = yield* chat(["/compact"])
      assert.deepStrictEqual([alone.code, alone.stdout], [1, ""])
      assert.include(alone.stderr, "\nNothing has been said yet.\n")
      assert.strictEqual((yield* chat(["/compact", "2+2"])).code, 0)
    }))

  it.effect("Ctrl-C in a /compact ends the whole chat", () =>
    Effect.gen(function*() {
      const long = Replies.says("what came of it ".repeat(40))
      const first = yield* OpenAiServer.make(long, Replies.says("Well."))
      const { id, on, root } = yield* chat(["tell me", "go on"], ["--model", "m"], { env: Replies.env(first) })
      const hanging = yield* OpenAiServer.make(OpenAiServer.open(), Replies.says("Hi."))
      const { code, stdout } = yield* on("chat", ["--session", id!, "--model", "m", "--root", root], {
        input: ["/compact", "hello"],
        signals: ctrlC(Deferred.await(hanging.received)),
        env: Replies.env(hanging)
      })
      assert.deepStrictEqual([code, stdout], [130, ""])
    }))

  it.effect("an unknown command with a slash is refused, and the last line decides the code", () =>
    Effect.gen(function*() {
      const { code, sessions, stderr, stdout } = yield* chat(["2+2", "/model"])
      assert.deepStrictEqual([code, stdout], [1, "2+2 = 4\n"])
      assert.include(stderr, "fiberloop: there is no command \"/model\", so nothing was sent: there are /compact, ")
      assert.deepStrictEqual((yield* sessions).map(({ turns }) => turns), [2])
      assert.strictEqual((yield* chat(["/model", "2+2"])).code, 0)
    }))

  it.effect("a chat whose input cannot be read on says why, ends with 1, and can be come back to", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* chat(["2+2", { _tag: "Unreadable", line: "no more of it" }, "3*3"])
      assert.deepStrictEqual([code, stdout], [1, "2+2 = 4\n"])
      assert.match(stderr, /\nfiberloop: no more of it\nCome back with: [^\n]+\n$/)
    }))

  it.effect("/quit ends the chat before the input does, with the code of the last message", () =>
    Effect.gen(function*() {
      const { code, sessions, stderr, stdout } = yield* chat(["2+2", "/quit", "3*3"])
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n"])
      assert.match(stderr, /\nCome back with: [^\n]+\n$/)
      assert.deepStrictEqual((yield* sessions).map(({ turns }) => turns), [2])
      assert.strictEqual((yield* chat(["write a poem", "/exit"])).code, 1)
    }))

  it.effect("/help lists keys and words as --help does, and is not a message", () =>
    Effect.gen(function*() {
      const { code, on, sessions, stderr, stdout } = yield* chat(["/help"])
      assert.deepStrictEqual([code, stdout, yield* sessions], [0, "", []])
      for (const words of ["  Ctrl-D, /quit  ", "  /compact  "]) assert.include(stderr, words)
      const keys = (yield* on("chat", ["--help"])).stdout.split("KEYS\n")[1]!.split("\n\n")[0]!
      assert.include(stderr, `${keys}\n`)
    }))

  it.live("a separate process answers what is piped into it", () =>
    Effect.gen(function*() {
      const child = yield* Child.start(["chat"], { cwd: yield* sandbox(), spawn: { stdio: "pipe" } })
      child.process.stdin?.end("2+2\n3*3")
      const { code, stdout } = yield* child.ended
      assert.deepStrictEqual([code, stdout], [0, "2+2 = 4\n3*3 = 9\n"])
    }))

  it.live("a signal while the chat waits for a message ends it with its code, and it says how to come back", () =>
    Effect.gen(function*() {
      const child = yield* Child.start(["chat"], { cwd: yield* sandbox(), spawn: { stdio: "pipe" } })
      child.process.stdin?.write("2+2\n")
      yield* child.says("✓ completed")
      child.process.kill("SIGTERM")
      const { code, stderr } = yield* child.ended
      assert.strictEqual(code, 143)
      assert.match(stderr, /\nCome back with: [^\n]+\n$/)
    }))

  it.effect("a session that does not exist is refused", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* chat(["2+2"], ["--session", "abcdef"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: there is no session "abcdef"[^\n]*\n$/)
    }))
})

/** One Ctrl-C, at this time. */
const ctrlC = (when: Effect.Effect<void>): Pick<Signals["Service"], "first" | "forget"> => {
  let isForgotten = false
  return {
    first: Effect.suspend(() => isForgotten ? Effect.never : Effect.as(when, "SIGINT" as const)),
    forget: Effect.sync(() => void (isForgotten = true))
  }
}

describe("at a terminal", () => {
  const terminal = { isTerminal: true }

  it.effect("the answer follows the message", () =>
    Effect.gen(function*() {
      const { code, tape } = yield* chat(["2+2"], [], terminal)
      assert.strictEqual(code, 0)
      assert.match(tape, /2\+2\n[^]*2\+2 = 4\n✓ completed/)
    }))

  it.effect("the chat greets with the available keys, and ends on a line of its own", () =>
    Effect.gen(function*() {
      const { tape } = yield* chat([], [], terminal)
      assert.match(tape, /\nA line ending in [^\n]*Ctrl-D leaves[^\n]*\n\n$/)
    }))

  it.effect("a chat that comes back to a session says first which one it is, and how it stands", () =>
    Effect.gen(function*() {
      const { id, talk } = yield* chat(["2+2"])
      const standing = new RegExp(`^${id} {2}completed {2}2 turns {2}just now {2}2\\+2\n`)
      assert.match((yield* talk([], ["--session", "last"], terminal)).tape, standing)
      for (const [args, look] of [[[], {}], [["--json"], terminal]] as const) {
        assert.notMatch((yield* talk([], ["--session", "last", ...args], look)).tape, standing)
      }
    }))

  it.effect("a terminal that goes away ends the chat with the code of a hangup, whose signal may come later", () =>
    Effect.gen(function*() {
      const { code, tape } = yield* chat(["2+2", { _tag: "Ended", isGone: true }], [], { isTerminal: true })
      assert.strictEqual(code, 129)
      assert.match(tape, /\nCome back with: [^\n]+\n$/)
    }))

  it.effect("a failed last message is not a failure of the conversation", () =>
    Effect.gen(function*() {
      for (const last of ["write a poem", "/compact", "/model"]) {
        assert.strictEqual((yield* chat([last], [], terminal)).code, 0)
      }
    }))

  it.effect("stopping an answer by anything but Ctrl-C ends the whole chat, with its code", () =>
    Effect.gen(function*() {
      const model = yield* OpenAiServer.make(OpenAiServer.open(), Replies.says("Hi."))
      const { code, stdout } = yield* chat(["hang", "hello"], ["--model", "m"], {
        ...terminal,
        signals: { first: Effect.as(Deferred.await(model.received), "SIGTERM"), forget: Effect.void },
        env: Replies.env(model)
      })
      assert.deepStrictEqual([code, stdout], [143, ""])
    }))

  it.effect("an answer that was not ended is not followed by a word about leaving or continuing", () =>
    Effect.gen(function*() {
      const { tape } = yield* chat(["2+2", "write a poem"], [], terminal)
      assert.notInclude(tape, "again to leave")
      assert.notMatch(tape, /go on with/i)
    }))

  it.effect("Ctrl-C at the prompt leaves only the second time", () =>
    Effect.gen(function*() {
      const { code, stdout, tape } = yield* chat([interrupted, interrupted, "2+2"], [], terminal)
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.strictEqual(tape.split("Press Ctrl-C again to leave.").length, 2)
    }))

  it.effect("Ctrl-C that discards typed text does not leave", () =>
    Effect.gen(function*() {
      const { stdout } = yield* chat([interrupted, { ...interrupted, wasEmpty: false }, "2+2"], [], terminal)
      assert.strictEqual(stdout, "2+2 = 4\n")
    }))

  it.effect("a message between two Ctrl-C keeps the chat open", () =>
    Effect.gen(function*() {
      const { stdout } = yield* chat([interrupted, "2+2", interrupted, "3*3"], [], terminal)
      assert.include(stdout, "3*3 = 9")
    }))

  it.effect.each(["/help", "/model", "/compact", " "])(
    "%j between two Ctrl-C keeps the chat open, too",
    (typed) =>
      Effect.gen(function*() {
        const { stdout, tape } = yield* chat([interrupted, typed, interrupted, "3*3"], [], terminal)
        assert.strictEqual(stdout, "3*3 = 9\n")
        assert.strictEqual(tape.split("Press Ctrl-C again to leave.").length, 3)
      })
  )

  it.effect("/compact shortens the conversation and is not a message", () =>
    Effect.gen(function*() {
      const long = Replies.says("what came of it ".repeat(40))
      const model = yield* OpenAiServer.make(
        long,
        Replies.says("Well."),
        Replies.says("In short."),
        Replies.says("Hi.")
      )
      const { tape } = yield* chat(["tell me", "go on", " /compact", "hello"], ["--model", "m"], {
        ...terminal,
        env: Replies.env(model)
      })
      assert.match(
        tape,
        /\/compact\n✓ the conversation was shortened from 4 to 3 messages, about [^\n]+\n {2}by the strategy "summary"\n/
      )
      const last = JSON.stringify(model.requests[3]!.body.messages)
      assert.include(last, "In short.")
      assert.notInclude(last, "/compact")
    }))

  it.effect("/compact says why it cannot, and the conversation continues", () =>
    Effect.gen(function*() {
      const { stdout, tape } = yield* chat(["/compact", "2+2", "/compact", "/compact", "3*3"], [], terminal)
      assert.include(tape, "/compact\nNothing has been said yet.\n")
      assert.match(tape, /\/compact\nfiberloop: session "[^"]+" was not changed: nothing can be left out/)
      assert.include(stdout, "3*3 = 9")
    }))

  it.effect("an unknown command with a slash is refused, and the conversation continues", () =>
    Effect.gen(function*() {
      const { code, sessions, tape } = yield* chat(["/Compact", "2+2", "/model"], [], terminal)
      assert.strictEqual(code, 0)
      assert.match(tape, /\/Compact\nfiberloop: there is no command "\/Compact"[^]*\/model\nfiberloop: there is no /)
      assert.deepStrictEqual((yield* sessions).map(({ turns }) => turns), [2])
    }))

  it.effect("Ctrl-C ends a /compact under way and leaves the conversation unchanged", () =>
    Effect.gen(function*() {
      const long = Replies.says("what came of it ".repeat(40))
      const first = yield* OpenAiServer.make(long, Replies.says("Well."))
      const { id, on, root } = yield* chat(["tell me", "go on"], ["--model", "m"], { env: Replies.env(first) })
      const hanging = yield* OpenAiServer.make(OpenAiServer.open(), Replies.says("Hi."))
      const { code, stdout, tape } = yield* on("chat", ["--session", id!, "--model", "m", "--root", root], {
        ...terminal,
        input: ["/compact", "hello"],
        signals: ctrlC(Deferred.await(hanging.received)),
        env: Replies.env(hanging)
      })
      yield* Deferred.await(hanging.left)
      assert.strictEqual(code, 0)
      assert.include(tape, "/compact\nStopped; the conversation was not changed.\n")
      assert.include(stdout, "Hi.")
      assert.include(JSON.stringify(hanging.requests[1]!.body.messages), "what came of it")
    }))

  it.effect("a message may have several lines", () =>
    Effect.gen(function*() {
      const model = yield* OpenAiServer.make(Replies.says("Hi."))
      yield* chat(["one\ntwo"], ["--model", "m"], { ...terminal, env: Replies.env(model) })
      assert.include(JSON.stringify(model.requests[0]!.body.messages), "one\\ntwo")
    }))

  it.effect("what was always allowed is allowed in the next turn, too", () =>
    Effect.gen(function*() {
      const command = Replies.calls(["run_command", { command: ["true"] }])
      const model = yield* OpenAiServer.make(command, Replies.says("Ran."), command, Replies.says("Again."))
      const { stdout, tape } = yield* chat(["run it", "a", "again"], ["--model", "m"], {
        ...terminal,
        env: Replies.env(model)
      })
      assert.include(stdout, "Again.")
      assert.strictEqual(tape.split("Allow?").length, 2)
    }))

  it.effect("Ctrl-C ends the answer under way, and the next message is answered", () =>
    Effect.gen(function*() {
      const model = yield* OpenAiServer.make(OpenAiServer.open(), Replies.says("Hi."))
      const { code, stdout, tape } = yield* chat(["hang", "hello"], ["--model", "m"], {
        ...terminal,
        signals: ctrlC(Deferred.await(model.received)),
        env: Replies.env(model)
      })
      yield* Deferred.await(model.left)
      assert.strictEqual(code, 0)
      assert.include(tape, "Press Ctrl-C again to leave.")
      assert.include(stdout, "Hi.")
    }))

  it.effect("Ctrl-C right after an answer was ended leaves", () =>
    Effect.gen(function*() {
      const model = yield* OpenAiServer.make(OpenAiServer.open(), Replies.says("Hi."))
      const { stdout } = yield* chat(["hang", interrupted, "hello"], ["--model", "m"], {
        ...terminal,
        signals: ctrlC(Deferred.await(model.received)),
        env: Replies.env(model)
      })
      assert.notInclude(stdout, "Hi.")
    }))

  it.effect("a denied call is in the session with its reason, and the model continues", () =>
    Effect.gen(function*() {
      const command = Replies.calls(["run_command", { command: ["false"] }])
      const model = yield* OpenAiServer.make(command, Replies.says("Then not."))
      const { id, stdout, store } = yield* chat(["run it", "n too risky"], ["--model", "m"], {
        ...terminal,
        env: Replies.env(model)
      })
      const log = yield* SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(id!))).pipe(
        Effect.provide(store)
      )
      const resolved = log.find((event) => event._tag === "ApprovalResolved")
      assert.deepInclude(resolved, { approved: false, by: "terminal", reason: "the user said: too risky" })
      assert.include(stdout, "Then not.")
    }))
})
