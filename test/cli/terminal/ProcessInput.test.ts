/** The keys of a terminal, and the lines of a pipe, on streams in this process. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { PassThrough, Readable } from "node:stream"
import * as ProcessInput from "../../../src/cli/terminal/ProcessInput.ts"

const open = (isTerminal: boolean) => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  output.resume()
  return { ...ProcessInput.make({ input, output, isTerminal }), input }
}

/** What `ask` returns if these keys are pressed while it waits. */
const pressing = <A>({ input }: { readonly input: PassThrough }, ask: Effect.Effect<A>, keys: string) =>
  Effect.gen(function*() {
    const asking = yield* Effect.forkChild(ask, { startImmediately: true })
    input.write(keys)
    return yield* Fiber.join(asking)
  })

/** By then, what was written has been read. */
const whenRead = Effect.promise(async () => {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
})

/** What reading a terminal fails with once that is gone; then it takes no other mode either. */
const hungUp = Object.assign(new Error("read EIO"), { code: "EIO" })
const goesAway = (input: PassThrough) => {
  Object.assign(input, { setRawMode: (isRaw: boolean) => isRaw || input.emit("error", new Error("setRawMode EIO")) })
  input.destroy(hungUp)
}

const gone = { _tag: "Ended", isGone: true } as const

const up = "\u001b[A"
const down = "\u001b[B"

describe("a message at a terminal", () => {
  const cases: Record<string, readonly [keys: string, text: string]> = {
    "is what is typed before Enter": ["hello\r", "hello"],
    "can be edited": ["helo\u001b[Dl\r", "hello"],
    "goes on after a backslash": ["one\\\rtwo\r", "one\ntwo"],
    "takes a marked paste whole": ["\u001b[200~one\rtwo\r\u001b[201~three\r", "one\ntwo\nthree"],
    "takes a paste without marks whole": ["one\ntwo\n", "one\ntwo"]
  }
  for (const [what, [keys, text]] of Object.entries(cases)) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const terminal = open(true)
        assert.deepStrictEqual(yield* pressing(terminal, terminal.message, keys), { _tag: "Message", text })
      }))
  }

  it.effect("takes a marked paste whole even if it comes in pieces", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      const asking = yield* Effect.forkChild(terminal.message, { startImmediately: true })
      for (const piece of ["\u001b[200~one\r", "two\r", "\u001b[201~three\r"]) {
        terminal.input.write(piece)
        yield* whenRead
      }
      assert.deepStrictEqual(yield* Fiber.join(asking), { _tag: "Message", text: "one\ntwo\nthree" })
    }))

  it.effect("can be an earlier one, recalled with the arrow keys", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      for (const text of ["first", "second"]) yield* pressing(terminal, terminal.message, `${text}\r`)
      const typed = yield* pressing(terminal, terminal.message, `${up}${up}${down}${up}\r`)
      assert.deepStrictEqual(typed, { _tag: "Message", text: "first" })
    }))

  it.effect("is recalled whole if it had several lines, and once if it was sent twice", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      for (const keys of ["first\r", "one\\\rtwo\r", "one\\\rtwo\r"]) yield* pressing(terminal, terminal.message, keys)
      const again = yield* pressing(terminal, terminal.message, `${up}\r`)
      assert.deepStrictEqual(again, { _tag: "Message", text: "one\ntwo" })
      const older = yield* pressing(terminal, terminal.message, `${up}${up}${up}\r`)
      assert.deepStrictEqual(older, { _tag: "Message", text: "first" })
    }))

  it.effect("is discarded by Ctrl-C", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      const typed = yield* pressing(terminal, terminal.message, "hel\u0003")
      assert.deepStrictEqual(typed, { _tag: "Interrupted", wasEmpty: false })
      assert.deepStrictEqual(yield* pressing(terminal, terminal.message, "\u0003"), {
        _tag: "Interrupted",
        wasEmpty: true
      })
    }))

  it.effect("is not sent after Ctrl-D", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      assert.deepStrictEqual(yield* pressing(terminal, terminal.message, "\u0004"), { _tag: "Ended" })
    }))

  it.effect("that is complete comes before the end of the input, even if both arrive at once", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      assert.deepStrictEqual(yield* pressing(terminal, terminal.message, "hello\r\u0004"), {
        _tag: "Message",
        text: "hello"
      })
      assert.deepStrictEqual(yield* terminal.message, { _tag: "Ended" })
    }))

  it.effect("is none with a word with a slash that was typed ahead of the prompt, which comes after it", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      terminal.input.write("one\ntwo\n/compact\nthree\n/qu")
      const ahead = [yield* terminal.message, yield* terminal.message, yield* terminal.message]
      const messages = [...ahead, yield* pressing(terminal, terminal.message, "it\r")]
      assert.deepStrictEqual(
        messages,
        ["one\ntwo", "/compact", "three", "/quit"].map((text) => ({ _tag: "Message", text }))
      )
    }))

  it.effect("that was typed ahead comes before the end of the input, with all words with a slash", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      const first = yield* pressing(terminal, terminal.message, "one\r/compact\rtwo\r\u0004")
      const messages = [first, yield* terminal.message, yield* terminal.message]
      assert.deepStrictEqual(messages, ["one", "/compact", "two"].map((text) => ({ _tag: "Message", text })))
      assert.deepStrictEqual(yield* terminal.message, { _tag: "Ended" })
    }))

  it.effect("is not sent when the terminal is gone", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      const asking = yield* Effect.forkChild(terminal.message, { startImmediately: true })
      terminal.input.end()
      assert.deepStrictEqual(yield* Fiber.join(asking), { _tag: "Ended" })
      assert.deepStrictEqual(yield* terminal.message, { _tag: "Ended" })
    }))

  it.effect("is not sent when the terminal goes away with an error, which ends nothing else", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      const asking = yield* Effect.forkChild(terminal.message, { startImmediately: true })
      goesAway(terminal.input)
      assert.deepStrictEqual(yield* Fiber.join(asking), gone)
      assert.deepStrictEqual(yield* terminal.message, gone)
    }))

  it.effect("is not asked for where the terminal fails as soon as it is to be edited in", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      Object.assign(terminal.input, { setRawMode: () => terminal.input.emit("error", hungUp) })
      assert.deepStrictEqual(yield* terminal.message, gone)
    }))

  it.effect("is not asked for once the terminal went away with an error while nobody read", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      goesAway(terminal.input)
      yield* whenRead
      assert.deepStrictEqual(yield* terminal.message, gone)
    }))
})

describe("an answer", () => {
  it.effect("is not what was typed before the question", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      terminal.input.write("y\n")
      const typing = Effect.sync(() => terminal.input.write("n\n"))
      assert.strictEqual(yield* terminal.answer(typing), "n")
    }))

  it.effect("is not what was typed before a later question either", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      for (const keys of ["y\n", "a\n"]) {
        terminal.input.write(keys)
        assert.strictEqual(yield* terminal.answer(Effect.sync(() => terminal.input.write("n\n"))), "n")
      }
    }))

  it.effect("leaves what was typed before and after it to the next message", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      terminal.input.write("one\ntw")
      yield* terminal.answer(Effect.sync(() => terminal.input.write("n\n")))
      terminal.input.write("o\n")
      yield* terminal.answer(Effect.sync(() => terminal.input.write("n\nthree\n")))
      assert.deepStrictEqual(yield* terminal.message, { _tag: "Message", text: "one\ntwo\nthree" })
    }))

  it.effect("leaves nothing to the next message once that was dropped", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      terminal.input.write("one\n")
      yield* terminal.answer(Effect.sync(() => terminal.input.write("n\n")))
      yield* terminal.dropAhead
      assert.deepStrictEqual(yield* pressing(terminal, terminal.message, "two\r"), { _tag: "Message", text: "two" })
    }))

  it.effect("has nothing of a line that was begun before the question", () =>
    Effect.gen(function*() {
      // a terminal keeps back what is not a line yet, except in raw mode
      let begun = "y"
      const modes: Array<boolean> = []
      const terminal = open(true)
      Object.assign(terminal.input, {
        setRawMode: (isRaw: boolean) => {
          modes.push(isRaw)
          if (isRaw && begun !== "") terminal.input.write(begun)
          begun = ""
        }
      })
      const enter = Effect.sync(() => terminal.input.write(`${begun}\n`))
      assert.strictEqual(yield* terminal.answer(enter), "")
      assert.deepStrictEqual(modes, [true, false])
    }))

  it.effect("is none of the lines typed before, which a terminal delivers one at a time", () =>
    Effect.gen(function*() {
      const kept = ["y\n", "a\n", "y\n", "y\n"]
      // as a terminal is read: one line, and the next once the event loop comes round
      const input = new Readable({
        read() {
          setImmediate(() => {
            const line = kept.shift()
            if (line !== undefined) this.push(line)
          })
        }
      })
      const terminal = ProcessInput.make({ input, output: new PassThrough().resume(), isTerminal: true })
      assert.strictEqual(yield* terminal.answer(Effect.sync(() => input.push("n\n"))), "n")
      assert.deepStrictEqual(kept, [])
    }))

  it.effect("is undefined once the input has ended", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      const asking = yield* Effect.forkChild(terminal.answer(Effect.void), { startImmediately: true })
      terminal.input.end()
      assert.isUndefined(yield* Fiber.join(asking))
      assert.isUndefined(yield* terminal.answer(Effect.void))
    }))

  it.effect("is undefined if the terminal goes away with an error", () =>
    Effect.gen(function*() {
      const terminal = open(true)
      const going = Effect.sync(() => goesAway(terminal.input))
      assert.isUndefined(yield* terminal.answer(going))
      assert.isUndefined(yield* terminal.answer(Effect.void))
    }))
})

describe("a pipe", () => {
  it.effect("ends a line where files do, and nowhere else", () =>
    Effect.gen(function*() {
      const pipe = open(false)
      const text = "10 %\r20 %\u2028done, with €\u2029\r\n\n/quit"
      const bytes = Buffer.from(text)
      for (const byte of bytes) pipe.input.write(Buffer.of(byte))
      pipe.input.end()
      const typed = [yield* pipe.message, yield* pipe.message, yield* pipe.message, yield* pipe.message]
      assert.deepStrictEqual(typed, [
        { _tag: "Message", text: "10 %\r20 %\u2028done, with €\u2029" },
        { _tag: "Message", text: "" },
        { _tag: "Message", text: "/quit" },
        { _tag: "Ended" }
      ])
    }))

  it.effect("yields its lines one by one, even if they came at once", () =>
    Effect.gen(function*() {
      const pipe = open(false)
      pipe.input.end("one\ntwo")
      const typed = [yield* pipe.message, yield* pipe.message, yield* pipe.message]
      assert.deepStrictEqual(typed, [
        { _tag: "Message", text: "one" },
        { _tag: "Message", text: "two" },
        { _tag: "Ended" }
      ])
    }))

  it.effect("continues a message after a backslash at the end of a line, as a prompt does", () =>
    Effect.gen(function*() {
      const pipe = open(false)
      pipe.input.end("one\\\r\n/help\\\ntwo\n/quit\nthree\\")
      const typed = [yield* pipe.message, yield* pipe.message, yield* pipe.message, yield* pipe.message]
      assert.deepStrictEqual(typed, [
        { _tag: "Message", text: "one\n/help\ntwo" },
        { _tag: "Message", text: "/quit" },
        { _tag: "Message", text: "three" },
        { _tag: "Ended" }
      ])
    }))

  it.effect("that breaks off is read to there, and then says why it cannot be read on", () =>
    Effect.gen(function*() {
      const pipe = open(false)
      pipe.input.write("one\ntw")
      assert.deepStrictEqual(yield* pipe.message, { _tag: "Message", text: "one" })
      pipe.input.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }))
      const line = "standard input cannot be read on (ECONNRESET): come back with the messages that are left"
      assert.deepStrictEqual(yield* pipe.message, { _tag: "Unreadable", line })
    }))

  it.effect.each([["whole", ""], ["in lines that end with a backslash", "\\\n"]])(
    "refuses a message that is larger than a session can keep, and reads no more of it: %s",
    ([, end]) =>
      Effect.gen(function*() {
        const pipe = open(false)
        pipe.input.write("one\n")
        assert.deepStrictEqual(yield* pipe.message, { _tag: "Message", text: "one" })
        for (let i = 0; i < 17; i++) pipe.input.write(`${"x".repeat(1024 * 1024)}${end}`)
        const line = "standard input has a message of more than 16 million characters: name a file in it instead"
        assert.deepStrictEqual(yield* pipe.message, { _tag: "Unreadable", line })
        assert.isTrue(pipe.input.destroyed)
      })
  )
})
