/**
 * `fiberloop show --context`: what the model of a session would be sent now. Only reads, and does not open the session: a run
 * may go on meanwhile.
 *
 * Does not own what it looks like (`RenderContext`).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Counter from "../../loop/env/Counter.ts"
import * as Unsettled from "../../loop/round/Unsettled.ts"
import type * as Message from "../../run/Message.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as Measure from "../../run/state/Measure.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Model from "../../services/Model.ts"
import { Tokenizer } from "../../services/Tokenizer.ts"
import * as CliAgent from "../agent/CliAgent.ts"
import * as Instructions from "../agent/Instructions.ts"
import * as SessionModel from "../model/SessionModel.ts"
import { badInput, type Ended, type Refusal } from "../Refusal.ts"
import * as Print from "../render/Print.ts"
import * as RenderContext from "../render/RenderContext.ts"
import * as AgentName from "../session/AgentName.ts"
import * as KeptRuns from "../session/KeptRuns.ts"
import * as KeptSession from "../session/KeptSession.ts"
import * as SessionRoot from "../session/SessionRoot.ts"
import type { Settings } from "../Settings.ts"
import type { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"
import * as Root from "../tools/files/Root.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one */
  readonly session: string
  readonly isFull: boolean
}

const show = Effect.fnUntraced(function*(
  { isFull, place, session }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { contextWindow } = place
  const kept = yield* KeptSession.toRead(place, session)
  const { sessionId } = kept.info
  const model = yield* SessionModel.last(kept)
  const { state, transcript } = yield* KeptRuns.current(kept)
  const counter = new Counter.Counter(yield* Tokenizer)
  const by = contextWindow === undefined || model === undefined
    ? 1
    : Measure.correction(state.measured, model, contextWindow - Model.answerRoom({ contextWindow }))
  const sized = (tokens: number) => Math.ceil(tokens * by)
  const offer = yield* offerOf(place, kept, model)
  const context: RenderContext.Context = {
    sessionId,
    model,
    contextWindow,
    offer: offer === undefined ? undefined : {
      instructions: offer.instructions,
      tools: offer.tools.map(({ name }) => name),
      tokens: {
        instructions: sized(counter.tokens.message({ role: "system", content: offer.instructions })),
        tools: sized(counter.tools(offer.tools))
      }
    },
    messages: Transcript.messages(superseded(transcript, state), model).map((message) => ({
      message,
      tokens: sized(counter.tokens.message(message))
    })),
    memory: Transcript.memory(transcript),
    waiting: state.queued,
    openCalls: state.openCalls.length
  }
  yield* Print.print(
    place.json
      ? RenderContext.json(context)
      : RenderContext.text({ paint: yield* Print.paintOf(place.isPlain), isFull }, context)
  )
})

/** The messages, with the results that a new message would give to idle calls; a started call may still go on. */
const superseded = (transcript: Transcript.Transcript, { at, openCalls, runId = "", seq }: RunState.RunState) =>
  openCalls.filter(({ phase }) => phase !== "started").reduce(
    (before, call) =>
      Transcript.append(before, {
        _tag: "ToolSettled",
        seq,
        at,
        runId,
        version: RunEvent.version,
        turn: call.turn,
        callId: call.callId,
        tool: call.tool,
        outcome: Unsettled.ofIdle(call, "superseded"),
        duration: 0
      }),
    transcript
  )

/** What the command's agent would also send, in the session's folder or, if that is gone, in this one; undefined where the agent is another program's. */
const offerOf = Effect.fnUntraced(function*(
  place: Settings,
  kept: KeptSession.Kept,
  model: Message.ModelRef | undefined
) {
  const run = yield* KeptRuns.lastStarted(kept)
  if (run?.agent !== AgentName.own) return undefined
  if (model === undefined || SessionModel.flags(model).length === 0) {
    return { instructions: Instructions.reading, tools: Object.values(CliAgent.looking.tools) }
  }
  const { root } = yield* Effect.orElseSucceed(SessionRoot.adopt(place, kept), () => place)
  const folder = yield* Effect.mapError(Root.make(root), ({ message }) => badInput(message))
  const added = yield* Instructions.read(folder)
  return {
    instructions: Instructions.extend(Instructions.writing, added),
    tools: Object.values(CliAgent.working.tools)
  }
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(show(options)))
