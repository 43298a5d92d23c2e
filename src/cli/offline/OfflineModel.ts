/**
 * The model that answers when none is named: five kinds of question, no network. It asks for tools like any other, and
 * what it says is a function of the request's messages alone. It never looks at a file itself.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import * as Usage from "../../run/Usage.ts"
import * as Model from "../../services/Model.ts"
import * as Answer from "./Answer.ts"
import * as Conversation from "./Conversation.ts"
import * as Grammar from "./Grammar.ts"
import * as Misunderstood from "./Misunderstood.ts"
import * as Plan from "./Plan.ts"

const info: Model.ModelInfo = { provider: "fiberloop", name: "offline" }

/** The answer to a task that it does not understand, on one line. */
export const refusal = `${Misunderstood.beginning}: it answers questions like ` +
  Grammar.examples.map(([, example]) => `"${example}"`).join(", ") +
  " (more in fiberloop run --help); for anything else set OPENAI_API_KEY and give --model"

/** The parts of its answer to the messages, or nothing when it does not understand the task. */
export const respond = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Model.ModelPart> | undefined => {
  const { replies, task } = Conversation.read(messages)
  const intent = Grammar.parse(task)
  if (intent === undefined) return undefined
  const step = Plan.next(Answer.plan(intent), replies)
  return step._tag === "Answer"
    ? [...textParts(step.text), { type: "finish", reason: "stop", usage: Usage.zero }]
    : [...step.asks.flatMap(callParts), { type: "finish", reason: "tool-calls", usage: Usage.zero }]
}

const textParts = (text: string): ReadonlyArray<Model.ModelPart> =>
  (text.match(/\s*\S{1,40}|\s+$/gu) ?? [text]).map((delta) => ({ type: "text-delta", block: "text", delta }))

const callParts = ({ params, tool }: Plan.Ask, index: number): ReadonlyArray<Model.ModelPart> => {
  const id = `call_${index}`
  return [
    { type: "tool-params-delta", block: id, tool, delta: "" },
    ...(JSON.stringify(params).match(/[^,]*,?/gu) ?? []).filter((delta) => delta !== "")
      .map((delta): Model.ModelPart => ({ type: "tool-params-delta", block: id, delta })),
    { type: "tool-call", id, name: tool, params }
  ]
}

export const make: Model.Model["Service"] = {
  info,
  stream: ({ messages }) =>
    Stream.unwrap(Effect.sync(() => {
      const parts = respond(messages)
      return parts === undefined
        ? Stream.fail(new RunError.NonRetryableError({ _tag: "InvalidRequest" as const, message: refusal }))
        : Stream.rechunk(Stream.fromIterable(parts), 16)
    }))
}

export const layer: Layer.Layer<Model.Model> = Layer.succeed(Model.Model, make)

/** The model with these limits to what it takes. */
export const layerWith = (sizes: Pick<Model.ModelInfo, "contextWindow">): Layer.Layer<Model.Model> =>
  Layer.succeed(Model.Model, { ...make, info: { ...info, ...sizes } })
