/** The command line of the commands that look at kept sessions. What a command needs is loaded only when it is used. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Flags from "../Flags.ts"
import { codes, Refusal } from "../Refusal.ts"
import * as Place from "./Place.ts"

const { db, noColor } = Flags

const sessions = Command.make(
  "sessions",
  {
    limit: Flags.text("limit", "<n>", "Show at most this many; default: 20, with --json all"),
    all: Flags.switched("all", "Show also those that agents began for a call of another session"),
    prefix: Flags.text("prefix", "<text>", "Show only those whose ids begin with it"),
    json: Flags.switched("json", "Print every session as a line of JSON"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ all, limit, prefix, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const SessionsCommand = yield* Effect.promise(() => import("./SessionsCommand.ts"))
    yield* SessionsCommand.run({
      place,
      limit: Option.getOrUndefined(limit),
      all,
      prefix: Option.getOrUndefined(prefix)
    })
  })
).pipe(
  Command.withShortDescription("List the sessions"),
  Command.withDescription("Lists sessions, last changed first: id, how the last run ended, turns, age, first words."),
  Command.withExamples([
    { command: "fiberloop sessions", description: "What was asked last" },
    { command: "fiberloop sessions --limit 1 --json | jq -r .sessionId", description: "The id of the newest" }
  ])
)

const show = Command.make(
  "show",
  {
    session: Place.session,
    full: Flags.switched("full", "Show arguments and results whole, and the model's reasoning"),
    timeline: Flags.switched(
      "timeline",
      "Show model calls, tool calls and waits on a time axis, as wide as the terminal"
    ),
    context: Flags.switched("context", "Show instead what the model would be sent now, with its size in tokens"),
    json: Flags.switched(
      "json",
      "Print each event as a line of JSON; with --timeline each span, with --context one document"
    ),
    root: Flags.text(
      "root",
      "<folder>",
      "For --context: the folder whose AGENTS.md adds to the instructions; default: the session's"
    ),
    contextWindow: Flags.text(
      "context-window",
      "<n>",
      "For --context: the model's context window in tokens; default: FIBERLOOP_CONTEXT_WINDOW"
    ),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ context, contextWindow, full, session, timeline, ...typed }) {
    if (context && timeline) {
      return yield* new Refusal({ line: "--timeline and --context are two views: give one of them", code: codes.usage })
    }
    if (context) {
      const place = yield* Place.settingsOf({ ...typed, contextWindow: yield* Flags.windowOf(contextWindow) })
      const ContextCommand = yield* Effect.promise(() => import("./ContextCommand.ts"))
      return yield* ContextCommand.run({ place, session, isFull: full })
    }
    const place = yield* Place.settingsOf(typed)
    const ShowCommand = yield* Effect.promise(() => import("./ShowCommand.ts"))
    yield* ShowCommand.run({ place, session, isFull: full, isTimeline: timeline })
  })
).pipe(
  Command.withShortDescription("Show what happened in a session"),
  Command.withDescription("Prints a session as a transcript: inputs, answers, tool calls, approvals, ends, totals."),
  Command.withExamples([
    { command: "fiberloop show <session>", description: "The whole conversation" },
    { command: "fiberloop show <session> --full | less", description: "With whole results, page by page" },
    { command: "fiberloop show <session> --timeline", description: "Where the time went" },
    { command: "fiberloop show <session> --context", description: "What the model still sees of it" },
    {
      command: "fiberloop show <session> --json | jq 'select(._tag == \"ToolSettled\")'",
      description: "Its events, for programs"
    }
  ])
)

const stats = Command.make(
  "stats",
  {
    session: Flags.text("session", "<id>", "Only of this session; the beginning of its id is enough"),
    since: Flags.text("since", "<when>", "Only runs started since: 30m, 24h, 7d, 2w ago, or 2026-01-31 (UTC)"),
    agent: Flags.text("agent", "<name>", "Only runs of the agent with this name"),
    json: Flags.switched("json", "Print one object of JSON; times are in milliseconds"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ agent, session, since, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const StatsCommand = yield* Effect.promise(() => import("./StatsCommand.ts"))
    yield* StatsCommand.run({
      place,
      session: Option.getOrUndefined(session),
      since: Option.getOrUndefined(since),
      agent: Option.getOrUndefined(agent)
    })
  })
).pipe(
  Command.withShortDescription("Show the numbers of all runs"),
  Command.withDescription(
    "Counts kept runs: ends, success, turns, retries, compactions, times of models and tools, errors, tokens, cost."
  ),
  Command.withExamples([
    { command: "fiberloop stats --since 24h", description: "How the last day went" },
    { command: "fiberloop stats --session <id>", description: "What one session used" },
    { command: "fiberloop stats --db postgres://user@host/app --agent app/Support", description: "Of one agent" },
    { command: "fiberloop stats --json | jq .successRate", description: "For programs" }
  ])
)

export const commands = [sessions, show, stats] as const
