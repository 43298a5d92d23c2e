/** The command line of the commands that copy and delete kept sessions. What a command needs is loaded only when it is used. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Flags from "../Flags.ts"
import * as Place from "./Place.ts"

const { db, noColor } = Flags

const fork = Command.make(
  "fork",
  {
    session: Place.session,
    at: Flags.text("at", "<seq>", "Copy up to this event, the end of a turn or a run; default: the last of them"),
    to: Flags.text("to", "<id>", "The id of the copy; default: a new one"),
    json: Flags.switched("json", "Print the copy as a line of JSON, as sessions does"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ at, session, to, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const ForkCommand = yield* Effect.promise(() => import("./ForkCommand.ts"))
    yield* ForkCommand.run({ place, session, at: Option.getOrUndefined(at), to: Option.getOrUndefined(to) })
  })
).pipe(
  Command.withShortDescription("Copy a session, to go on in another way"),
  Command.withDescription(
    "Copies a session up to the end of a turn and prints the id of the copy; the two are independent."
  ),
  Command.withExamples([
    { command: "fiberloop fork <session>", description: "Try something else from here" },
    { command: "fiberloop fork <session> --at 14 --to retry", description: "From an earlier turn (seq of show --json)" }
  ])
)

const exporting = Command.make(
  "export",
  {
    session: Place.session,
    to: Flags.text("to", "<file>", "The file to make; default: standard output"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ session, to, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const ExportCommand = yield* Effect.promise(() => import("./ExportCommand.ts"))
    yield* ExportCommand.run({ place, session, to: Option.getOrUndefined(to) })
  })
).pipe(
  Command.withShortDescription("Write a session as lines of JSON"),
  Command.withDescription(
    "Writes a session as lines of JSON, a header and every event exactly, for fiberloop import and other tools."
  ),
  Command.withExamples([
    { command: "fiberloop export <session> --to session.jsonl", description: "Keep a session, or give it to somebody" },
    {
      command: "fiberloop export <session> | fiberloop import - --db other.db",
      description: "Copy it to another database"
    }
  ])
)

const importing = Command.make(
  "import",
  {
    file: Argument.String("file").pipe(
      Argument.withDescription("A file that fiberloop export made; - for standard input")
    ),
    to: Flags.text("to", "<id>", "The id of the session; default: the one it had"),
    json: Flags.switched("json", "Print the session as a line of JSON, as sessions does"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ file, to, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const ImportCommand = yield* Effect.promise(() => import("./ImportCommand.ts"))
    yield* ImportCommand.run({ place, file, to: Option.getOrUndefined(to) })
  })
).pipe(
  Command.withShortDescription("Add a session that was exported"),
  Command.withDescription(
    "Adds a session that was exported and prints its id. All lines are checked first: it is added whole or not at all."
  ),
  Command.withExamples([
    { command: "fiberloop import session.jsonl", description: "Under the id it had" },
    { command: "fiberloop import session.jsonl --to copy", description: "Under another one" }
  ])
)

const removing = Command.make(
  "remove",
  {
    sessions: Place.session.pipe(Argument.variadic({ min: 1 })),
    yes: Flags.switched("yes", "Delete without asking; needed where there is no terminal"),
    json: Flags.switched("json", "Print each deleted session as a line of JSON, as sessions does"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ sessions: [first, ...more], yes, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const RemoveCommand = yield* Effect.promise(() => import("./RemoveCommand.ts"))
    yield* RemoveCommand.run({ place, sessions: [first!, ...more], yes })
  })
).pipe(
  Command.withShortDescription("Delete sessions"),
  Command.withDescription(
    "Deletes sessions for good, with those of agents below their calls; shows them and asks first. Forks of them stay."
  ),
  Command.withExamples([
    { command: "fiberloop remove <session> <session>", description: "After a look at them" },
    {
      command: "fiberloop sessions --json | jq -r 'select(.turns == 0).sessionId' | xargs fiberloop remove --yes",
      description: "Those in which no model has answered"
    }
  ])
)

export const commands = [fork, exporting, importing, removing] as const
