/**
 * One call of a model on behalf of a strategy: returns its result as data, within the time limits of a turn's call. Notes what it
 * spends, whatever the result.
 *
 * Does not own the attempt (`attempts/Attempt`), whether the answer counts, nor whether to try again (`Ask`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as AttemptResult from "../../run/AttemptResult.ts"
import * as Message from "../../run/Message.ts"
import * as Rewrite from "../../run/transcript/Rewrite.ts"
import * as Usage from "../../run/Usage.ts"
import * as Attempt from "../../services/attempts/Attempt.ts"
import * as Incoming from "../../services/attempts/Incoming.ts"
import * as Patience from "../../services/attempts/Patience.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Pace from "../../services/fibers/Pace.ts"
import * as LeaveBehind from "../../services/LeaveBehind.ts"
import * as Model from "../../services/Model.ts"
import * as ObserveCall from "../../services/ObserveCall.ts"
import * as Timeouts from "../../services/Timeouts.ts"

type Service = Model.Model["Service"]
export type Question = Pick<Model.ModelRequest, "messages" | "metadata" | "output">

/** The content of a settled result is the answer's text. Visible to `ObserveCall`, as every strategy's call is. */
export const make = (
  model: Service,
  { messages, metadata, output }: Question,
  ledger: ContextManager.Ledger
): Effect.Effect<AttemptResult.AttemptResult> => {
  const request: Model.ModelRequest = {
    // what was said may hold anything, and so may what models answered
    messages: Rewrite.legal(messages, []),
    tools: [],
    toolChoice: "none",
    ...(output === undefined ? {} : { output }),
    metadata
  }
  return Effect.flatMap(
    ObserveCall.ObserveCall,
    (observe) => observe(model.info, request, read(model, request, ledger))
  )
}

const read = Effect.fnUntraced(function*(
  model: Service,
  request: Model.ModelRequest,
  ledger: ContextManager.Ledger
): Effect.fn.Return<AttemptResult.AttemptResult> {
  const patience = Patience.of(yield* Timeouts.Timeouts)
  const leave = yield* LeaveBehind.LeaveBehind
  // others go first: if they abort the call, it is not made
  yield* Pace.letOthersGo
  const text = new Text((usage) => ledger.note(usage, Model.refOf(model.info)))
  const incoming = new Collecting(text, yield* Clock.Clock)
  return yield* Effect.ensuring(
    Attempt.of(model.stream(request), incoming, patience, leave(`model ${model.info.name}`)),
    Effect.sync(() => text.stop())
  )
})

class Collecting extends Incoming.Incoming {
  readonly collector: Text

  constructor(text: Text, clock: Clock.Clock) {
    super(clock)
    this.collector = text
  }

  protected override take(parts: ReadonlyArray<Model.ModelPart>): void {
    this.collector.push(parts)
  }
}

/** The text of an answer. What it cost is noted once: when it is complete, or when nothing more of it is read. */
class Text implements Incoming.Collected {
  finish: Incoming.Collected["finish"]
  response: AttemptResult.Response | undefined
  used = Usage.zero
  #text = ""
  readonly #note: (usage: Usage.Usage) => void

  constructor(note: (usage: Usage.Usage) => void) {
    this.#note = note
  }

  push(parts: ReadonlyArray<Model.ModelPart>): void {
    for (const part of parts) {
      if (part.type === "text-delta") this.#text += part.delta
      if (part.type === "response") this.#learn(part)
      if (part.type !== "finish") continue
      this.used = Usage.counted(part.usage)
      this.finish = { reason: part.reason, usage: this.used }
      return this.#note(this.used)
    }
  }

  get size(): number {
    return this.#text.length
  }

  content(): ReadonlyArray<Message.AssistantPart> {
    return this.#text === "" ? [] : [Message.text(this.#text)]
  }

  stop(): void {
    if (this.finish === undefined) this.#note(this.used)
  }

  #learn(response: Extract<Model.ModelPart, { type: "response" }>): void {
    if (response.id !== undefined || response.model !== undefined) this.response = response
    // counts where no finish comes
    if (response.usage !== undefined) this.used = Usage.counted(response.usage)
  }
}
