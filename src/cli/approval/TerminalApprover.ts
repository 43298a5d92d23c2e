/**
 * Who answers when a call asks for permission: a person at the terminal who has seen all of it, a rule that this person made,
 * or `--yes`. Only a clear yes counts as one. Where there is no person, the answer is no, or is left for later.
 *
 * Does not own what a person sees (`Describe.ts`) nor what a rule covers (`RuleKey.ts`).
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as Approver from "../../services/Approver.ts"
import type { Paint } from "../render/Paint.ts"
import type { Screen } from "../render/Screen.ts"
import * as TerminalText from "../render/TerminalText.ts"
import type { Input } from "../terminal/Input.ts"
import type * as Root from "../tools/files/Root.ts"
import type * as ShownFiles from "../tools/write/ShownFiles.ts"
import * as AnsweredBy from "./AnsweredBy.ts"
import * as Describe from "./Describe.ts"
import * as RuleKey from "./RuleKey.ts"

/** Allows everything. */
export const all: Approver.Approver = { ask: () => Effect.succeed({ approved: true, by: AnsweredBy.flag }) }

/** Denies everything, because nobody can be asked. */
export const nobody: Approver.Approver = {
  ask: () =>
    Effect.succeed({
      approved: false,
      by: AnsweredBy.nobody,
      reason: "the user cannot be asked, since standard input or standard error is not a terminal; the user can run " +
        "fiberloop in one, with the task as an argument, or allow everything with --yes"
    })
}

/** Leaves every answer for later. */
const later: Approver.Approver = { ask: () => Effect.succeed(undefined) }

/** Where and for which drive of a run questions are asked. */
export interface Occasion {
  readonly allowsAll: boolean
  /** whether a person is there to be asked */
  readonly isAttended: boolean
  /** whether the run had asked people before this drive */
  readonly hasAsked: boolean
}

/** Where nobody is there, a run that had asked before goes on waiting for answers; for any other the answer is no. */
export const of = (desk: Desk, { allowsAll, hasAsked, isAttended }: Occasion): Approver.Approver =>
  allowsAll ? all : isAttended ? make(desk) : hasAsked ? later : nobody

export interface Desk {
  readonly root: Root.Root
  readonly screen: Pick<Screen, "asked" | "hold">
  readonly paint: Paint
  /** the width of the terminal */
  readonly columns: () => number
  /** Writes to the terminal. */
  readonly write: (text: string) => Effect.Effect<void>
  /** A line that the person types after the question; `undefined` when nothing more comes. */
  readonly answer: Input["Service"]["answer"]
  readonly isGone: Input["Service"]["isGone"]
  /** Notes what the person sees of files. */
  readonly shown: ShownFiles.ShownFiles
  /** What is allowed until fiberloop ends; the answer "always" adds to it. */
  readonly rules: Set<string>
}

/** Asks a person, one question at a time, while nothing else is written. A question stays open whose terminal goes away. */
export const make = (desk: Desk): Approver.Approver => {
  const turn = Semaphore.makeUnsafe(1)
  return {
    ask: (question) =>
      Effect.gen(function*() {
        const rule = yield* RuleKey.of(desk.root, question.tool, question.params)
        if (rule !== undefined && desk.rules.has(rule)) return { approved: true, by: AnsweredBy.rule } as const
        yield* desk.screen.asked(question.approvalId)
        return yield* desk.screen.hold(askPerson(desk, question, rule))
      }).pipe(turn.withPermit)
  }
}

const askPerson = Effect.fnUntraced(function*(
  { answer, columns, isGone, paint, root, rules, shown, write }: Desk,
  { params, tool }: Approver.Question,
  rule: string | undefined
): Effect.fn.Return<Approver.Answer | undefined> {
  const text = yield* Describe.describe(root, shown)(tool, params)
  yield* write(`${painted(text, tool, paint)}\n${reminder(text, columns())}`)
  for (;;) {
    const ask = write(paint.yellow(rule === undefined ? choices : `${choices}, a = ${always}`) + " › ")
    const line = yield* Effect.onInterrupt(answer(ask), () => write("\n"))
    if (line === undefined && isGone()) return undefined
    if (line === undefined) yield* write("\n")
    const reply = read(line, rule !== undefined)
    switch (reply._tag) {
      case "Unclear":
        continue
      case "No":
        return { approved: false, by: AnsweredBy.person, ...(reply.reason !== undefined && { reason: reply.reason }) }
      case "Always":
        rules.add(rule!)
        return { approved: true, by: AnsweredBy.person }
      case "Yes":
        return { approved: true, by: AnsweredBy.person }
    }
  }
})

const choices = "Allow? y = yes, n = no, n and a reason tells the model why"

const always = "yes, and always this exact command"

type Reply =
  | { readonly _tag: "Yes" }
  | { readonly _tag: "Always" }
  | { readonly _tag: "No"; readonly reason?: string }
  | { readonly _tag: "Unclear" }

/** What a typed line means. Enter alone means nothing; the end of the input is a no. */
const read = (line: string | undefined, hasRule: boolean): Reply => {
  if (line === undefined) return { _tag: "No", reason: "the input ended before the user answered" }
  const typed = line.trim()
  if (/^(?:y|yes)$/i.test(typed)) return { _tag: "Yes" }
  if (/^(?:a|always)$/i.test(typed)) return hasRule ? { _tag: "Always" } : { _tag: "Unclear" }
  const no = /^(?:no|n)(?:[\s,:;.-]+(.*))?$/is.exec(typed)
  if (no === null) return { _tag: "Unclear" }
  const reason = no[1]?.trim()
  return reason === undefined || reason === "" ? { _tag: "No" } : { _tag: "No", reason: `the user said: ${reason}` }
}

/** Lines that even small terminals show at once, with room for the question. */
const mostLines = 20

const longestTop = 120

/** How much there is to read, and its first line, which may have scrolled away; nothing for a short text. */
const reminder = (text: string, columns: number): string => {
  const lines = text.split("\n")
  const drawn = lines.reduce((sum, line) => sum + TerminalText.rows(line, columns), 0)
  const [title = "", next = ""] = lines
  const top = title.endsWith(":") ? `${title} ${next}` : title
  return drawn <= mostLines ? "" : `↑ ${drawn} lines: ${TerminalText.cut(top, longestTop)}\n`
}

/** A diff with coloured lines; a command's lines may begin with anything, and stay plain. */
const painted = (text: string, tool: string, paint: Paint): string => {
  if (tool === "run_command") return text
  const [title = "", ...lines] = text.split("\n")
  const colour = (line: string) =>
    line.startsWith("+") ? paint.green(line) : line.startsWith("-") ? paint.red(line) : line
  return [title, ...lines.map(colour)].join("\n")
}
