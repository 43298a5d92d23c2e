/** The command line of the commands for runs that wait. What a command needs is loaded only when it is used. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Flags from "../Flags.ts"
import * as Place from "./Place.ts"

const { db, noColor } = Flags

const approvals = Command.make(
  "approvals",
  {
    session: Flags.text("session", "<id>", "Only those of this session; its beginning is enough"),
    json: Flags.switched("json", "Print every question as a line of JSON"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ session, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const ApprovalsCommand = yield* Effect.promise(() => import("./ApprovalsCommand.ts"))
    yield* ApprovalsCommand.run({ place, session: Option.getOrUndefined(session) })
  })
).pipe(
  Command.withShortDescription("List the calls that wait for an approval"),
  Command.withDescription(
    "Lists the tool calls that wait for a yes or a no, with their arguments: of runs that are suspended or under way."
  ),
  Command.withExamples([
    { command: "fiberloop approvals", description: "What waits, in which session" },
    { command: "fiberloop approvals --json | jq -r .id", description: "The ids, for programs" }
  ])
)

const deciding = {
  session: Place.session,
  approval: Argument.String("approval").pipe(
    Argument.withDescription("The id of the question, as fiberloop approvals lists it; needed if several wait"),
    Argument.optional
  ),
  by: Flags.text("by", "<name>", "Who decides, for the log; default: command"),
  json: Flags.switched("json", "Print what was decided as a line of JSON"),
  db,
  noColor
}

const approve = Command.make(
  "approve",
  {
    ...deciding,
    params: Flags.text("params", "<json>", "Run the call with these arguments instead of the model's"),
    result: Flags.text("result", "<json>", "Settle the call with this result instead of running it")
  },
  Effect.fnUntraced(function*({ approval, by, params, result, session, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const DecideCommand = yield* Effect.promise(() => import("./DecideCommand.ts"))
    yield* DecideCommand.run({
      place,
      session,
      approval: Option.getOrUndefined(approval),
      approved: true,
      by: Option.getOrUndefined(by),
      reason: undefined,
      params: Option.getOrUndefined(params),
      result: Option.getOrUndefined(result)
    })
  })
).pipe(
  Command.withShortDescription("Allow a call that waits"),
  Command.withDescription(
    "Allows a tool call that waits. A run under way goes on; otherwise fiberloop resume, or its program, continues it."
  ),
  Command.withExamples([
    { command: "fiberloop approve <session>", description: "The one call that waits there" },
    { command: "fiberloop approve <session> 1.0 --params '{\"amount\":5}'", description: "With other arguments" },
    { command: "fiberloop approve <session> --result '\"done by hand\"'", description: "Instead of the tool" }
  ])
)

const deny = Command.make(
  "deny",
  { ...deciding, reason: Flags.text("reason", "<text>", "Why, for the model") },
  Effect.fnUntraced(function*({ approval, by, reason, session, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const DecideCommand = yield* Effect.promise(() => import("./DecideCommand.ts"))
    yield* DecideCommand.run({
      place,
      session,
      approval: Option.getOrUndefined(approval),
      approved: false,
      by: Option.getOrUndefined(by),
      reason: Option.getOrUndefined(reason),
      params: undefined,
      result: undefined
    })
  })
).pipe(
  Command.withShortDescription("Deny a call that waits"),
  Command.withDescription(
    "Denies a tool call that waits; the model reads why when fiberloop resume, or the agent's program, continues the run."
  ),
  Command.withExamples([
    { command: "fiberloop deny <session> --reason \"too expensive\"", description: "The one call that waits there" }
  ])
)

const abort = Command.make(
  "abort",
  {
    session: Place.session,
    json: Flags.switched("json", "Print the session as a line of JSON, as sessions does"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ session, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const AbortCommand = yield* Effect.promise(() => import("./AbortCommand.ts"))
    yield* AbortCommand.run({ place, session })
  })
).pipe(
  Command.withShortDescription("End a run that is live, waiting or left behind"),
  Command.withDescription(
    "Ends a session's last run, even of another process, waiting or left behind: no call of it runs, nobody recovers it."
  ),
  Command.withExamples([
    { command: "fiberloop abort <session>", description: "Only fiberloop resume can continue it" }
  ])
)

const steer = Command.make(
  "steer",
  {
    session: Place.session,
    message: Argument.String("message").pipe(Argument.withDescription("What to say to the run")),
    followUp: Flags.switched("follow-up", "Say it when the run would complete, instead of with its next turn"),
    json: Flags.switched("json", "Print what became of the message as a line of JSON"),
    db,
    noColor
  },
  Effect.fnUntraced(function*({ followUp, message, session, ...typed }) {
    const place = yield* Place.settingsOf(typed)
    const SteerCommand = yield* Effect.promise(() => import("./SteerCommand.ts"))
    yield* SteerCommand.run({ place, session, message, kind: followUp ? "followUp" : "steer" })
  })
).pipe(
  Command.withShortDescription("Say something to a run under way, in whatever process"),
  Command.withDescription(
    "Says something to a session's run while another process drives it, and waits until its model is given that."
  ),
  Command.withExamples([
    { command: "fiberloop steer <session> \"look at src only\"", description: "With the run's next turn" },
    { command: "fiberloop steer <session> --follow-up \"and the tests?\"", description: "When it would complete" }
  ])
)

export const commands = [approvals, approve, deny, steer, abort] as const
