/**
 * A model that says what a test scripted, one turn per request or chosen by the request, and remembers what it was asked.
 * Every request is checked by `StrictModel`; one that was not scripted dies and fails the test.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Message from "../run/Message.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as Source from "../run/Source.ts"
import type * as Usage from "../run/Usage.ts"
import * as Model from "../services/Model.ts"
import * as StrictModel from "./StrictModel.ts"

/** One thing a scripted turn does; made by the functions below. */
export type Step =
  | { readonly _tag: "Parts"; readonly parts: ReadonlyArray<Model.ModelPart> }
  | { readonly _tag: "Delay"; readonly duration: Duration.Input }
  | { readonly _tag: "Fail"; readonly error: RunError.ModelError }
  | { readonly _tag: "Die"; readonly defect: unknown }
  | { readonly _tag: "Gate"; readonly gate: Gate }
  | { readonly _tag: "Cut" }

/**
 * One step or several. A turn without a `finish`, `fail`, `die` or `cut` finishes by itself: with `tool-calls` where it
 * made a call, else with `stop`, and with the default `usage`.
 */
export type Turn = Step | ReadonlyArray<Step>

/** Holds a turn until the test releases it. Single use: a later turn at the same gate finds it released. */
export interface Gate {
  /** waits until a turn has come to the gate */
  readonly started: Effect.Effect<void>
  /** releases the turn, even one that has yet to come */
  readonly release: Effect.Effect<void>
  /** waits until the turn has left the gate: released, or because its stream was closed */
  readonly closed: Effect.Effect<void>
  /** what the model does at the gate */
  readonly wait: Effect.Effect<void>
  /** what the model does when it leaves the gate */
  readonly close: Effect.Effect<void>
}

/** What the model was asked so far, and how many of its streams are open. */
export class Script extends Context.Service<Script, {
  /** in order, including those of failed attempts */
  readonly requests: Effect.Effect<ReadonlyArray<Model.ModelRequest>>
  readonly openStreams: Effect.Effect<number>
}>()("fiberloop/testing/ScriptedModel/Script") {}

/** How the scripted model describes itself. */
export interface Options {
  /** the model's description; default: provider and name `scripted`, no sizes */
  readonly info?: Model.ModelInfo
}

const defaultInfo: Model.ModelInfo = { provider: "scripted", name: "scripted" }

/** Usage of a turn that does not say otherwise: 10 tokens in, 5 out. */
export const usage: Usage.Usage = { inputTokens: 10, outputTokens: 5 }

/** A text, as one delta or as the given pieces. */
export const text = (...pieces: ReadonlyArray<string>): Step =>
  parts(...pieces.map((delta): Model.ModelPart => ({ type: "text-delta", block: "text", delta })))

/** A piece of reasoning; the pieces of a turn make one part, which has `metadata`. */
export const reasoning = (delta: string, metadata?: Message.Metadata): Step =>
  parts({ type: "reasoning-delta", block: "reasoning", delta, ...(metadata === undefined ? {} : { metadata }) })

/** A whole tool call. `params` that are a text stand for arguments that did not parse. `id` is the provider's. */
export const call = (tool: string, params: Schema.Json, id = "call"): Step =>
  parts({ type: "tool-call", id, name: tool, params })

/** What the answer rests on: pages and documents. */
export const sources = (...sources: ReadonlyArray<Source.Source>): Step =>
  parts(...sources.map((source): Model.ModelPart => ({ type: "source", source })))

/** Any parts, delivered as one array. */
export const parts = (...parts: ReadonlyArray<Model.ModelPart>): Step => ({ _tag: "Parts", parts })

/** The end of an answer; a turn without one gets it by itself. */
export const finish = (reason: RunEvent.FinishReason, used: Usage.Usage = usage): Step =>
  parts({ type: "finish", reason, usage: used })

/** Time passes, on the test's clock. */
export const delay = (duration: Duration.Input): Step => ({ _tag: "Delay", duration })

/** The stream fails here, as a provider's does. */
export const fail = (error: RunError.ModelError): Step => ({ _tag: "Fail", error })

/** The stream dies here, as that of a model with a bug does. */
export const die = (defect: unknown): Step => ({ _tag: "Die", defect })

/** The stream ends here without a finish. */
export const cut: Step = { _tag: "Cut" }

/** The turn waits here; see `makeGate`. */
export const gate = (gate: Gate): Step => ({ _tag: "Gate", gate })

/** A new gate, at which no turn waits yet. */
export const makeGate: Effect.Effect<Gate> = Effect.sync(() => {
  const started = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  const closed = Deferred.makeUnsafe<void>()
  const done = (deferred: Deferred.Deferred<void>) => Effect.asVoid(Deferred.succeed(deferred, undefined))
  return {
    started: Deferred.await(started),
    release: done(released),
    closed: Deferred.await(closed),
    wait: Effect.andThen(done(started), Deferred.await(released)),
    close: done(closed)
  }
})

/**
 * Turns in the order of the requests, retries included; or a function of the request, the same in every process that makes
 * it. A missing turn, or `undefined`, means that the request was not scripted.
 */
export type Turns = ReadonlyArray<Turn> | ((request: Model.ModelRequest) => Turn | undefined)

/**
 * The model, and what it was asked. A request that is illegal (`StrictModel`) or was not scripted dies where it was
 * made, and the first of these again when the scope closes, so that the test fails even if the code under test swallowed it.
 */
export const make = Effect.fnUntraced(function*(
  turns: Turns,
  options: Options = {}
): Effect.fn.Return<Context.Context<Model.Model | Script>, never, Scope.Scope> {
  const requests: Array<Model.ModelRequest> = []
  let open = 0
  let unscripted: Error | undefined
  yield* Effect.addFinalizer(() => unscripted === undefined ? Effect.void : Effect.die(unscripted))
  const model = yield* StrictModel.make({
    info: options.info ?? defaultInfo,
    stream: (request) =>
      Stream.suspend(() => {
        requests.push(request)
        const turn = typeof turns === "function" ? turns(request) : turns[requests.length - 1]
        if (turn === undefined) {
          // what comes after the first is often its consequence, such as the turn of an agent whose sub-agent had none
          unscripted ??= notScripted(turns, requests.length, request)
          return Stream.die(unscripted)
        }
        const opened = Effect.acquireRelease(
          Effect.sync(() => {
            open++
          }),
          () =>
            Effect.sync(() => {
              open--
            })
        )
        return Stream.unwrap(Effect.as(opened, play(turn)))
      })
  })
  return Context.make(Model.Model, model).pipe(
    Context.add(Script, { requests: Effect.sync(() => [...requests]), openStreams: Effect.sync(() => open) })
  )
})

/** A scripted model as a layer; lives in the layer's scope. */
export const layer = (turns: Turns, options?: Options): Layer.Layer<Model.Model | Script> =>
  Layer.effectContext(make(turns, options))

const notScripted = (turns: Turns, nth: number, { messages }: Model.ModelRequest) => {
  const script = typeof turns === "function"
    ? "the script has no turn for it"
    : `the script has ${turns.length} ${turns.length === 1 ? "turn" : "turns"}`
  const [first] = messages
  const last = messages.at(-1)
  const says = [
    first?.role === "system" ? `has the instructions "${beginning(first.content)}"` : "has no instructions",
    ...(last === undefined || last.role === "system" ? [] : [`ends with ${lastOf(last)}`])
  ]
  return new Error(`ScriptedModel: request ${nth} was not scripted; ${script}. The request ${says.join(" and ")}`)
}

const lastOf = (message: Exclude<Message.Message, Message.SystemMessage>) =>
  message.role === "tool"
    ? `the results of ${message.content.map(({ name }) => name).join(", ")}`
    : `"${beginning(Message.textOf(message.content))}" of the role ${message.role}`

const beginning = (text: string) => text.length > 80 ? `${text.slice(0, 80)}...` : text

type Played = Stream.Stream<Model.ModelPart, RunError.ModelError>

const play = (turn: Turn): Played => {
  const steps = Array.isArray(turn) ? turn as ReadonlyArray<Step> : [turn as Step]
  const ends = steps.some((step) =>
    step._tag === "Fail" || step._tag === "Die" || step._tag === "Cut" ||
    (step._tag === "Parts" && step.parts.some((part) => part.type === "finish"))
  )
  const hasCalls = steps.some((step) => step._tag === "Parts" && step.parts.some((part) => part.type === "tool-call"))
  const all = ends ? steps : [...steps, finish(hasCalls ? "tool-calls" : "stop")]
  return Stream.fromIterable(all).pipe(Stream.rechunk(1), Stream.flatMap(playStep))
}

const playStep = (step: Step): Played => {
  switch (step._tag) {
    case "Parts":
      return Stream.fromIterable(step.parts)
    case "Delay":
      return Stream.drain(Stream.fromEffect(Effect.sleep(step.duration)))
    case "Fail":
      return Stream.fail(step.error)
    case "Die":
      return Stream.die(step.defect)
    case "Cut":
      return Stream.empty
    case "Gate":
      return Stream.drain(Stream.fromEffect(Effect.ensuring(step.gate.wait, step.gate.close)))
  }
}
