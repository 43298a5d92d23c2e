/**
 * The standard input of this process. A terminal stays in its usual mode, where it edits lines and Ctrl-C is a signal, except
 * while a message is edited. Nothing is read before it is asked for.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Readline from "node:readline"
import type { Readable, Writable } from "node:stream"
import * as Continuation from "./chat/Continuation.ts"
import { Input, type Typed } from "./Input.ts"

/** Where lines come from, and where the terminal shows them while they are edited. */
interface Streams {
  readonly input: Readable
  readonly output: Writable
  readonly isTerminal: boolean
  /** the terminal knows no control codes; Node's line editor checks TERM for that by itself */
  readonly isDumb?: boolean
}

export const make = (streams: Streams): Input["Service"] => ({
  isTerminal: streams.isTerminal,
  answer: answer(streams),
  message: streams.isTerminal ? edited(streams, { history: [], hasEnded: false }) : piped(streams)
})

export const layer: Layer.Layer<Input> = Layer.sync(Input, () =>
  make({
    input: process.stdin,
    output: process.stderr,
    isTerminal: process.stdin.isTTY === true && process.stderr.isTTY === true,
    isDumb: process.env["TERM"] === "dumb"
  }))

const hasEnded = ({ input }: Streams) => input.readableEnded || input.destroyed

/** Reads lines until the scope closes; then the input is left alone again. */
const reader = (options: Readline.ReadLineOptions): Effect.Effect<Readline.Interface, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => Readline.createInterface(options)),
    (lines) => Effect.sync(() => lines.close())
  )

/** Reads and drops what the terminal has buffered before it asks the question, so that only a later line can answer it. */
const answer = (streams: Streams): Input["Service"]["answer"] => (ask) =>
  Effect.scoped(Effect.gen(function*() {
    if (hasEnded(streams)) return undefined
    const lines = yield* reader({ input: streams.input, terminal: false })
    const typed = Deferred.makeUnsafe<string | undefined>()
    let isAsked = false
    let ahead = 0
    lines.on("line", (line) => {
      ahead++
      if (isAsked) Deferred.doneUnsafe(typed, Effect.succeed(line))
    })
    lines.on("close", () => Deferred.doneUnsafe(typed, Effect.succeed(undefined)))
    // a terminal delivers one line at a time, however many it has buffered
    for (let before = -1; before < ahead;) {
      before = ahead
      yield* whenRead
    }
    isAsked = true
    yield* ask
    return yield* Deferred.await(typed)
  }))

/** Completes once the available input was read: on a terminal, one line. */
const whenRead = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

/** One line after the other, with one reader for all of them, so that no line is lost between two. */
const piped = ({ input }: Streams): Effect.Effect<Typed> => {
  let lines: AsyncIterator<string> | undefined
  return Effect.map(
    Effect.promise(() => {
      lines ??= Readline.createInterface({ input })[Symbol.asyncIterator]()
      return lines.next()
    }),
    ({ done, value }) => done === true ? { _tag: "Ended" } : { _tag: "Message", text: value }
  )
}

const prompts = { first: "› ", more: "… " }
/** The terminal marks what is pasted, so that its line feeds can be told from Enter. */
const marking = { on: "\u001b[?2004h", off: "\u001b[?2004l" }

/** What the line editor of one message passes on to the next. */
interface Kept {
  /** the messages before, the newest first */
  readonly history: Array<string>
  /** whether Ctrl-D came right after the last message */
  hasEnded: boolean
}

/** A line editor for one message. */
const edited = (streams: Streams, kept: Kept): Effect.Effect<Typed> =>
  Effect.scoped(Effect.gen(function*() {
    if (kept.hasEnded || hasEnded(streams)) return { _tag: "Ended" } as const
    const { input, isDumb = false, output } = streams
    if (!isDumb) {
      yield* Effect.acquireRelease(
        Effect.sync(() => output.write(marking.on)),
        () => Effect.sync(() => output.write(marking.off))
      )
    }
    const editor = yield* reader({
      input,
      output,
      prompt: prompts.first,
      history: [...kept.history],
      historySize: mostRemembered,
      terminal: true
    })
    if (!isDumb) yield* unmarkedAtTheShell(input, output)
    const paste = yield* pasting(input)
    yield* endingAhead(input, editor)
    return yield* Effect.callback<Typed>((resume) => {
      let isOver = false
      let before: string | undefined
      let burst: Array<Continuation.Line> = []
      const settle = (typed: Typed) => {
        isOver = true
        if (typed._tag === "Message") remember(kept.history, typed.text)
        resume(Effect.succeed(typed))
      }
      const take = () => {
        if (isOver) return
        const { isComplete, text } = Continuation.join(before, burst, editor.line !== "")
        before = text
        burst = []
        if (isComplete) return settle({ _tag: "Message", text })
        editor.setPrompt(prompts.more)
        editor.prompt(true)
      }
      editor.on("line", (line) => {
        // History in Node 24 may return a message of several lines with other line endings than it was given.
        const text = line.replaceAll("\r", "\n")
        burst.push({ text, isPasted: paste.isOpen })
        if (burst.length === 1) setImmediate(take)
      })
      editor.on("SIGINT", () => {
        const wasEmpty = before === undefined && burst.length === 0 && editor.line === ""
        output.write("\n")
        settle({ _tag: "Interrupted", wasEmpty })
      })
      // Node has paused the input, and nothing else keeps the process alive
      editor.on("SIGCONT", () => {
        if (!isDumb) output.write(marking.on)
        editor.prompt(true)
      })
      editor.on("close", () => {
        if (isOver) return
        const { isComplete, text } = Continuation.join(before, burst, false)
        kept.hasEnded = isComplete
        settle(isComplete ? { _tag: "Message", text } : { _tag: "Ended" })
      })
      editor.prompt()
    })
  }))

/** Ctrl-Z leaves the terminal to a shell, which may not know marks. Comes before the line editor, which stops the process. */
const unmarkedAtTheShell = (input: Readable, output: Writable) => {
  const onKey = (_: string | undefined, key: { readonly ctrl?: boolean; readonly name?: string } | undefined) => {
    if (key?.ctrl === true && key.name === "z") output.write(marking.off)
  }
  return Effect.acquireRelease(
    Effect.sync(() => input.prependListener("keypress", onKey)),
    () => Effect.sync(() => input.off("keypress", onKey))
  )
}

/** A Ctrl-D typed before the terminal passed keys on comes as NUL, which is what Ctrl-Space sends after that. */
const endingAhead = (input: Readable, editor: Readline.Interface) => {
  const onKey = (text: string | undefined) => {
    if (text === "\0") editor.write(null, { ctrl: true, name: "d" })
  }
  const stop = Effect.sync(() => input.off("keypress", onKey))
  return Effect.andThen(
    Effect.acquireRelease(Effect.sync(() => input.on("keypress", onKey)), () => stop),
    Effect.forkScoped(Effect.andThen(whenRead, stop))
  )
}

const mostRemembered = 200

/** Puts a message first, only once, and drops the oldest beyond the limit. */
const remember = (history: Array<string>, text: string): void => {
  if (text.trim() === "") return
  history.splice(0, history.length, ...[text, ...history.filter((it) => it !== text)].slice(0, mostRemembered))
}

/** Whether the keys that come now are a paste, for terminals that mark it. */
const pasting = (input: Readable) => {
  const paste = { isOpen: false }
  const onKey = (_: string | undefined, key: { readonly name?: string } | undefined) => {
    if (key?.name === "paste-start") paste.isOpen = true
    if (key?.name === "paste-end") paste.isOpen = false
  }
  return Effect.acquireRelease(
    Effect.sync(() => {
      input.on("keypress", onKey)
      return paste
    }),
    () => Effect.sync(() => input.off("keypress", onKey))
  )
}
