/** The command line: commands, flags and their help. What a run needs is loaded only when one starts. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Settings from "./Settings.ts"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const switched = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

const flags = {
  root: text("root", "<folder>", "The folder whose files are looked at; default: the current one"),
  db: text("db", "<file>", "Where sessions are kept; default: .fiberloop/sessions.db in the current folder"),
  model: text(
    "model",
    "<name>",
    "A model of an OpenAI-compatible API; default: FIBERLOOP_MODEL, else the offline model"
  ),
  maxTurns: text("max-turns", "<n>", "Stop after so many model calls; default: 20"),
  session: text("session", "<id>", "Go on with a session; without a task, with its unfinished run"),
  json: switched("json", "Print every event as a line of JSON, and nothing else, on standard output"),
  noColor: switched("no-color", "No colours, no spinner, no control codes")
}

const examples = [
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
  { command: "fiberloop run --session <id> \"and which are the shortest?\"", description: "Go on with a session" }
]

/** A setting of the environment; blank ones are as if they were absent. */
const environment = (name: string): Effect.Effect<string | undefined> =>
  Config.option(Config.String(name)).pipe(
    Effect.map((value) => Option.getOrUndefined(value)?.trim() || undefined),
    Effect.orElseSucceed(() => undefined)
  )

/** No colours are wanted, whatever the terminal can do. */
export const isPlain: Effect.Effect<boolean> = Effect.gen(function*() {
  return (yield* environment("NO_COLOR")) !== undefined || (yield* environment("TERM")) === "dumb"
})

const run = Command.make(
  "run",
  {
    task: Argument.String("task").pipe(
      Argument.withDescription("What to do, in quotes; may be left out with --session"),
      Argument.optional
    ),
    ...flags
  },
  Effect.fnUntraced(function*({ noColor, ...typed }) {
    const settings = yield* Settings.check({
      task: Option.getOrUndefined(typed.task),
      root: Option.getOrUndefined(typed.root),
      db: Option.getOrUndefined(typed.db),
      model: Option.getOrUndefined(typed.model) ?? (yield* environment("FIBERLOOP_MODEL")),
      maxTurns: Option.getOrUndefined(typed.maxTurns),
      session: Option.getOrUndefined(typed.session),
      json: typed.json,
      isPlain: noColor || (yield* isPlain)
    })
    const Run = yield* Effect.promise(() => import("./Run.ts"))
    yield* Run.run(settings)
  })
).pipe(
  Command.withShortDescription("Run a task"),
  Command.withDescription("Runs a task on the files of a folder, which are only read, and prints the answer."),
  Command.withExamples(examples)
)

export const command = Command.make("fiberloop").pipe(
  Command.withDescription("Runs an agent on the files of a folder. Its sessions are kept and can be gone on with."),
  Command.withSubcommands([run]),
  Command.withExamples(examples)
)
