/**
 * A model that gives the answers of a recorded session again, and fails the test on a request that the log has no answer for.
 *
 * Does not own how a log becomes answers (`Answers`), nor what makes two requests the same (`Asked`).
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as Model from "../../services/Model.ts"
import * as ScriptedModel from "../ScriptedModel.ts"
import * as Answers from "./Answers.ts"
import * as Asked from "./Asked.ts"

export interface Options {
  /** the model's description, with the sizes of the recorded one, which no log has; default: the first model of the log, no sizes */
  readonly info?: Model.ModelInfo
  /**
   * `same`: every request has the conversation that the recorded model was sent, and a run that makes one makes all that it made. `any`:
   * the answer is given whatever the request says, for agents whose hooks change what is sent. Default `same`.
   */
  readonly requests?: "same" | "any"
}

type Events = ReadonlyArray<RunEvent.Durable>

/** A run of the recording that goes on again, in one session: how many turns it took, and how often each was asked for. */
interface Replay {
  readonly runId: string
  readonly turns: number
  readonly tries: Map<number, number>
}

/**
 * The model, and what it was asked; lives in the scope. What is wrong fails the test where it was asked, and the first of it again when
 * the scope closes.
 */
export const make = Effect.fnUntraced(function*(
  events: Events,
  { info = infoOf(events), requests = "same" }: Options = {}
): Effect.fn.Return<Context.Context<Model.Model | ScriptedModel.Script>, never, Scope.Scope> {
  const runs = Answers.of(events, info)
  const replays = new Map<string, Replay>()
  let problem: Error | undefined
  const refuse = (why: string) => {
    const error = new Error(`Recorded.model: ${why}`)
    problem ??= error
    return ScriptedModel.die(error)
  }
  const answer = ({ messages, metadata }: Model.ModelRequest): ScriptedModel.Turn => {
    const { attempt, runId, sessionId, turn } = metadata
    if (attempt === 0) return refuse(ofStrategy)
    const run = runs.get(runId)
    if (run === undefined) return refuse(unknown(runId))
    const answers = run.turns.get(turn)
    if (answers === undefined) return refuse(unanswered(runId, turn, run))
    const key = JSON.stringify([sessionId, runId])
    const { tries } = replays.get(key) ?? { tries: new Map<number, number>() }
    const before = tries.get(turn) ?? 0
    replays.set(key, { runId, turns: run.turns.size, tries: tries.set(turn, before + 1) })
    // an answer that the run did not take is given again
    const next = answers[Math.min(before, answers.length - 1)]!
    const wrong = requests === "any" ? undefined : Asked.difference(messages, next.sent, info)
    return wrong === undefined ? next.turn : refuse(another(runId, turn, next, wrong))
  }
  yield* Effect.addFinalizer(() => {
    const wrong = problem ?? (requests === "any" ? undefined : unasked(replays.values()))
    return wrong === undefined ? Effect.void : Effect.die(wrong)
  })
  return yield* ScriptedModel.make(answer, { info })
})

/** The model as a layer; lives in the layer's scope. */
export const layer = (events: Events, options?: Options): Layer.Layer<Model.Model | ScriptedModel.Script> =>
  Layer.effectContext(make(events, options))

const infoOf = (events: Events): Model.ModelInfo =>
  events.find((event) => event._tag === "TurnStarted")?.model ?? { provider: "recorded", name: "recorded" }

const ofStrategy =
  "a log does not have the answers that a context strategy got from a model: give the strategy a model of its own"

const unknown = (runId: string): string =>
  `the recording has no run "${runId}": start its runs with Recorded.inputs, which have their ids`

const unanswered = (runId: string, turn: number, { end }: Answers.Run): string => {
  const how = end === undefined ? "it was cut off" : `it ended with ${end._tag} (${RunEvent.reasonOf(end)})`
  return `run "${runId}" got no answer in its turn ${turn} when it was recorded: ${how}`
}

const notDone = "What people sent, decided or cut off then is not done again."

const another = (runId: string, turn: number, { seq }: Answers.Answer, wrong: string): string =>
  `turn ${turn} of run "${runId}" asks another thing than when it was recorded (event ${seq} answers it): ${wrong}\n` +
  `${notDone} Where hooks change what is sent, give { requests: "any" }.`

/** A run that took fewer turns than in the recording, if there is one. */
const unasked = (replays: Iterable<Replay>): Error | undefined => {
  for (const { runId, tries, turns } of replays) {
    if (tries.size < turns) {
      return new Error(
        `Recorded.model: run "${runId}" ended after turn ${tries.size}, and took ${turns} when it was recorded. ${notDone} ` +
          "Where a run may end earlier, give { requests: \"any\" }."
      )
    }
  }
  return undefined
}
