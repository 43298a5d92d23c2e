/** The line editor of a chat: one message, of one line or several, typed and edited at a prompt of a terminal. */
import * as Effect from "effect/Effect"
import type * as Readline from "node:readline"
import type { Readable, Writable } from "node:stream"
import type { Typed } from "../terminal/Input.ts"
import * as LineStreams from "../terminal/LineStreams.ts"
import * as Continuation from "./Continuation.ts"

const prompts = { first: "› ", more: "… " }
/** The terminal marks what is pasted, so that its line feeds can be told from Enter. */
const marking = { on: "\u001b[?2004h", off: "\u001b[?2004l" }

/** What the line editor of one message passes on to the next. */
interface Past {
  /** the messages before, the newest first */
  readonly history: Array<string>
  /** whether Ctrl-D came right after the last message */
  hasEnded: boolean
  /** whether the terminal has failed */
  isGone: boolean
  /** what was typed after the last message, before it was answered */
  ahead: string
}

/**
 * Asks for one message each time it runs; the history is that of all of them. If it is interrupted, what is written next begins on a
 * line of its own.
 */
export const make = (streams: LineStreams.Streams): Effect.Effect<Typed> => {
  const past: Past = { history: [], hasEnded: false, isGone: false, ahead: "" }
  streams.input.on("error", () => past.isGone = true)
  return edited(streams, past)
}

const ended = ({ isGone }: Past): Typed => isGone ? { _tag: "Ended", isGone } : { _tag: "Ended" }

/** A line editor for one message. */
const edited = (streams: LineStreams.Streams, past: Past): Effect.Effect<Typed> =>
  Effect.scoped(Effect.gen(function*() {
    if ((past.hasEnded && past.ahead === "") || LineStreams.hasEnded(streams)) return ended(past)
    const { input, isDumb = false, output } = streams
    if (!isDumb) {
      yield* Effect.acquireRelease(
        Effect.sync(() => output.write(marking.on)),
        () => Effect.sync(() => output.write(marking.off))
      )
    }
    const editor = yield* LineStreams.reader({
      input,
      output,
      prompt: prompts.first,
      history: [...past.history],
      historySize: mostRemembered,
      terminal: true
    }).pipe(
      // a terminal that went away takes no other mode
      Effect.catchDefect((defect) => past.isGone ? Effect.undefined : Effect.die(defect))
    )
    if (editor === undefined) return ended(past)
    if (!isDumb) yield* unmarkedAtTheShell(input, output)
    const paste = yield* pasting(input)
    yield* endingAhead(input, editor)
    return yield* Effect.callback<Typed>((resume) => {
      let isOver = false
      let before: string | undefined
      let burst: Array<Continuation.Line> = []
      const settle = (typed: Typed, ahead = "") => {
        isOver = true
        past.ahead = ahead
        if (typed._tag === "Message") remember(past.history, typed.text)
        resume(Effect.succeed(typed))
      }
      /** Goes below all rows of the line, wherever the cursor is in it. */
      const leave = () => {
        editor.write(null, { ctrl: true, name: "e" })
        output.write("\n")
      }
      const take = () => {
        if (isOver) return
        const { ahead, isComplete, text } = Continuation.join(before, burst, editor.line)
        before = text
        burst = []
        if (isComplete) {
          if (editor.line !== "") output.write("\n")
          return settle({ _tag: "Message", text }, ahead)
        }
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
        leave()
        settle({ _tag: "Interrupted", wasEmpty })
      })
      // Node has paused the input, and nothing else keeps the process alive
      editor.on("SIGCONT", () => {
        if (!isDumb) output.write(marking.on)
        editor.prompt(true)
      })
      editor.on("close", () => {
        if (isOver) return
        const { ahead, isComplete, text } = Continuation.join(before, burst, "")
        past.hasEnded = isComplete
        if (isComplete) settle({ _tag: "Message", text }, ahead)
        else settle(ended(past))
      })
      editor.prompt()
      if (past.ahead !== "") editor.write(past.ahead)
      return Effect.sync(() => {
        if (!isOver) leave()
      })
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
    Effect.forkScoped(Effect.andThen(LineStreams.whenRead, stop))
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
