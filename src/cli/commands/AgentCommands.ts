/** The command line of the commands in which the agent works. What a run needs is loaded only when one starts. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Flags from "../Flags.ts"
import * as Settings from "../Settings.ts"
import { untilSignal } from "../terminal/Signals.ts"
import * as Place from "./Place.ts"

/** The flags of the agent's surroundings. */
const standing = {
  root: Flags.text(
    "root",
    "<folder>",
    "The folder whose files are looked at; default: the session's, or the current one"
  ),
  db: Flags.db,
  model: Flags.text(
    "model",
    "<name>",
    "OpenAI-compatible, anthropic/..., google/...; default: FIBERLOOP_MODEL, session's, offline"
  ),
  contextWindow: Flags.contextWindow,
  asFiberloop: Flags.switched("as-fiberloop", "Continue even a session of another program's agent, without its tools")
}

/** The flags of every run. */
const running = {
  ...standing,
  maxTurns: Flags.text(
    "max-turns",
    "<n>",
    "Stop after this many model calls; default: 20, or what a continued run had"
  ),
  json: Flags.switched("json", "Print every event as a line of JSON, and nothing else, on standard output"),
  yes: Flags.switched("yes", "Allow every change of a file and every command without asking"),
  noColor: Flags.noColor
}

type Running = Command.Command.Config.Infer<typeof running>
/** A command that drives nothing has neither a task nor limits. */
type Typed = Omit<Running, "maxTurns" | "yes"> & Partial<Running & Pick<Settings.Typed, "task" | "session">>

const settingsOf = Effect.fnUntraced(function*({ maxTurns = Option.none(), yes = false, ...typed }: Typed) {
  return yield* Settings.check({
    task: typed.task,
    root: Option.getOrUndefined(typed.root),
    db: Option.getOrUndefined(typed.db),
    model: Option.getOrUndefined(typed.model) ?? (yield* Flags.environment("FIBERLOOP_MODEL")),
    maxTurns: Option.getOrUndefined(maxTurns),
    contextWindow: yield* Flags.windowOf(typed.contextWindow),
    session: typed.session,
    json: typed.json,
    isPlain: typed.noColor || (yield* Flags.isPlain),
    yes,
    asFiberloop: typed.asFiberloop
  })
})

export const runExamples = [
  {
    command: "fiberloop run \"which three files under src are the longest?\"",
    description: "Ask about the files here"
  },
  {
    command: "fiberloop run --model gpt-5.5 \"how is the code organised?\"",
    description: "Ask a real model (OPENAI_API_KEY)"
  },
  { command: "fiberloop run --root docs \"outline intro.md\" > outline.txt", description: "Keep the answer only" },
  { command: "fiberloop run --json \"list all *.json files\" | jq -r ._tag", description: "Every event, for programs" },
  { command: "git diff | fiberloop run --model gpt-5.5 -", description: "Take the task from a pipe" },
  { command: "fiberloop run --session <id> \"and which are the shortest?\"", description: "Go on with a session" }
]

/** The task that was typed, or piped in for a dash. */
const taskOf = Effect.fnUntraced(function*(typed: string | undefined) {
  if (typed !== "-") return typed
  const LineFile = yield* Effect.promise(() => import("../terminal/LineFile.ts"))
  return yield* untilSignal(LineFile.readWhole(typed))
})

const run = Command.make(
  "run",
  {
    task: Argument.String("task").pipe(
      Argument.withDescription("What to do, in quotes, or - for standard input; may be left out with --session"),
      Argument.optional
    ),
    session: Flags.text(
      "session",
      "<id>",
      "Go on with a session, or the last one: last; without a task, with its unfinished run"
    ),
    ...running
  },
  Effect.fnUntraced(function*({ session, task, ...typed }) {
    const settings = yield* settingsOf({
      ...typed,
      task: yield* taskOf(Option.getOrUndefined(task)),
      session: Option.getOrUndefined(session)
    })
    const [Run, GoingOn] = yield* Effect.promise(() => Promise.all([import("../Run.ts"), import("../GoingOn.ts")]))
    yield* Run.run(yield* GoingOn.whole(settings))
  })
).pipe(
  Command.withShortDescription("Run a task"),
  Command.withDescription(
    "Runs a task on the files of a folder, which are changed only where you allow it, and prints the answer."
  ),
  Command.withExamples(runExamples)
)

const chat = Command.make(
  "chat",
  { session: Flags.text("session", "<id>", "Go on with a session, or the last one: last"), ...running },
  Effect.fnUntraced(function*({ session, ...typed }) {
    const settings = yield* settingsOf({ ...typed, session: Option.getOrUndefined(session) })
    const Chat = yield* Effect.promise(() => import("../chat/Chat.ts"))
    yield* Chat.run(settings)
  })
).pipe(
  Command.withShortDescription("Talk in the terminal"),
  Command.withDescription(
    "A conversation in one session. Without a terminal, every line of standard input is a message, or a /word."
  ),
  Command.withExamples([
    { command: "fiberloop chat --model gpt-5.5", description: "Talk about the files here, and let them be changed" },
    { command: "fiberloop chat --session last", description: "Come back to the last conversation" }
  ])
)

const resume = Command.make(
  "resume",
  { session: Place.session, ...running },
  Effect.fnUntraced(function*({ session, ...typed }) {
    const settings = yield* settingsOf(typed)
    const ResumeCommand = yield* Effect.promise(() => import("./ResumeCommand.ts"))
    yield* ResumeCommand.run({ settings, session })
  })
).pipe(
  Command.withShortDescription("Go on with the last run of a session"),
  Command.withDescription(
    "Continues a session's last run: aborted, failed, limited, waiting or cut short. A complete one becomes a chat."
  ),
  Command.withExamples([
    { command: "fiberloop resume <session>", description: "Go on where it was aborted" },
    { command: "fiberloop resume <session> --max-turns 40", description: "Go on where its turns were used up" }
  ])
)

const recover = Command.make(
  "recover",
  { list: Flags.switched("list", "Only list the sessions"), ...running },
  Effect.fnUntraced(function*({ list, ...typed }) {
    const settings = yield* settingsOf(typed)
    const RecoverCommand = yield* Effect.promise(() => import("./RecoverCommand.ts"))
    yield* RecoverCommand.run({ settings, isList: list })
  })
).pipe(
  Command.withShortDescription("Go on with what a crash left behind"),
  Command.withDescription(
    "Continues every run whose process or store went away. Calls under way then run again only if their tools allow it."
  ),
  Command.withExamples([
    { command: "fiberloop recover --list", description: "What was left behind" },
    { command: "fiberloop recover --model gpt-5.5", description: "Go on with all of it" }
  ])
)

const compact = Command.make(
  "compact",
  {
    session: Place.session,
    ...standing,
    json: Flags.switched("json", "Print the outcome as a line of JSON"),
    noColor: Flags.noColor
  },
  Effect.fnUntraced(function*({ session, ...typed }) {
    const settings = yield* settingsOf(typed)
    const CompactCommand = yield* Effect.promise(() => import("./CompactCommand.ts"))
    yield* CompactCommand.run({ settings, session })
  })
).pipe(
  Command.withShortDescription("Make the context of a session smaller"),
  Command.withDescription(
    "Makes what a session's model is sent smaller, so that its next run begins with less. The session itself keeps it all."
  ),
  Command.withExamples([
    { command: "fiberloop compact <session>", description: "Leave out old tool output; the next time, summarise" },
    { command: "fiberloop show <session> --context", description: "What the model would get now" }
  ])
)

export const commands = [run, chat, resume, recover, compact] as const
