/**
 * The standard input of this process. A terminal stays in its usual mode, where it edits lines and Ctrl-C is a signal, except
 * while a message is edited. Nothing is read before it is asked for. Does not own how a message is edited
 * (`chat/MessageEditor.ts`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Readable } from "node:stream"
import { isatty } from "node:tty"
import * as Continuation from "../chat/Continuation.ts"
import * as MessageEditor from "../chat/MessageEditor.ts"
import * as FileReason from "../FileReason.ts"
import { badInput, Refusal } from "../Refusal.ts"
import { Input, longestMessage, type Typed } from "./Input.ts"
import * as LineStreams from "./LineStreams.ts"

export const make = (streams: LineStreams.Streams, isGone = () => false): Input["Service"] => {
  // Whoever reads learns of a failed read; without a listener it would also end the process.
  streams.input.on("error", () => {})
  const ahead: Array<Uint8Array> = []
  return {
    isTerminal: streams.isTerminal,
    isGone,
    answer: answer(streams, ahead),
    message: streams.isTerminal
      ? Effect.andThen(giveBack(streams, ahead), MessageEditor.make(streams))
      : piped(streams),
    dropAhead: Effect.sync(() => void (ahead.length = 0))
  }
}

export const layer: Layer.Layer<Input> = Layer.sync(Input, () =>
  make({
    input: process.stdin,
    output: process.stderr,
    isTerminal: process.stdin.isTTY === true && process.stderr.isTTY === true,
    isDumb: process.env["TERM"] === "dumb"
  }, () => process.stdin.isTTY === true && !isatty(process.stdin.fd)))

/**
 * Only a line that is typed after the question, from its first character on, can answer it. What was typed before, and after the
 * answer, is added to `ahead`.
 */
const answer = (streams: LineStreams.Streams, ahead: Array<Uint8Array>): Input["Service"]["answer"] => (ask) =>
  Effect.gen(function*() {
    yield* takeTyped(streams, ahead)
    return LineStreams.hasEnded(streams) ? undefined : yield* lineAfter(streams, ahead, ask)
  })

const lineAfter = (
  { input }: LineStreams.Streams,
  ahead: Array<Uint8Array>,
  ask: Effect.Effect<void>
): Effect.Effect<string | undefined> =>
  Effect.scoped(Effect.gen(function*() {
    const lines = yield* LineStreams.reader({ input, terminal: false })
    const typed = Deferred.makeUnsafe<string | undefined>()
    lines.on("line", (line) => {
      if (!Deferred.doneUnsafe(typed, Effect.succeed(line))) ahead.push(Buffer.from(`${line}\n`))
    })
    lines.on("close", () => Deferred.doneUnsafe(typed, Effect.succeed(undefined)))
    yield* ask
    return yield* Deferred.await(typed)
  }))

/** Reads what was typed so far: the lines that the terminal holds, and the beginning of another one. */
const takeTyped = (streams: LineStreams.Streams, ahead: Array<Uint8Array>): Effect.Effect<void> =>
  Effect.scoped(Effect.gen(function*() {
    if (LineStreams.hasEnded(streams)) return
    yield* LineStreams.reading(streams, (chunk) => ahead.push(chunk))
    // a terminal delivers one line at a time, however many it has buffered
    for (let before = -1; before < ahead.length;) {
      before = ahead.length
      yield* LineStreams.whenRead
    }
    yield* LineStreams.whileRaw(streams, LineStreams.whenRead)
  }))

/** What was taken is typed once more, for whoever reads next. */
const giveBack = (streams: LineStreams.Streams, ahead: Array<Uint8Array>): Effect.Effect<void> =>
  Effect.sync(() => {
    const typed = Buffer.concat(ahead.splice(0))
    if (typed.length > 0 && !LineStreams.hasEnded(streams)) streams.input.unshift(typed)
  })

/** One message after the other, with one reader for all of them, so that no line is lost between two. */
const piped = ({ input }: LineStreams.Streams): Effect.Effect<Typed> => {
  let messages: AsyncIterator<string> | undefined
  return Effect.tryPromise({
    try: () => {
      messages ??= messagesOf(input)
      return messages.next()
    },
    catch: (cause) => cause instanceof Refusal ? cause : badInput(brokenOff(cause))
  }).pipe(Effect.match({
    onSuccess: ({ done, value }): Typed => done === true ? { _tag: "Ended" } : { _tag: "Message", text: value },
    onFailure: ({ line }): Typed => ({ _tag: "Unreadable", line })
  }))
}

const brokenOff = (cause: unknown): string => {
  const why = FileReason.of((cause as NodeJS.ErrnoException).code ?? "unknown error")
  return `standard input cannot be read on (${why}): come back with the messages that are left`
}

/** Throws a refusal for a message, or a part of one, that no session could keep. */
const checkLength = (length: number): void => {
  if (length > longestMessage) {
    throw badInput("standard input has a message of more than 16 million characters: name a file in it instead")
  }
}

/** The lines, each joined to those before it that end with a backslash, as at a prompt. */
const messagesOf = async function*(input: Readable): AsyncGenerator<string, undefined> {
  let parts: Array<string> = []
  let length = -1
  for await (const line of linesOf(input)) {
    const { isComplete, text } = Continuation.join(undefined, [{ text: line, isPasted: false }], "")
    parts.push(text)
    checkLength(length += text.length + 1)
    if (!isComplete) continue
    yield parts.join("\n")
    parts = []
    length = -1
  }
  if (parts.length > 0) yield parts.join("\n")
  return undefined
}

/** Lines as files have them: Node's readline also ends one at a carriage return alone, and at U+2028 and U+2029. */
const linesOf = async function*(input: Readable): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let begun = ""
  for await (const chunk of input) {
    const [first = "", ...more] = (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })).split(
      "\n"
    )
    begun += first
    checkLength(begun.length)
    for (const next of more) {
      yield begun.replace(/\r$/, "")
      begun = next
    }
  }
  if (begun !== "") yield begun
  return undefined
}
