/**
 * What a sweep tests: an agent with its store, made anew wherever it is played, and what its tools did outside.
 *
 * Does not own what is done to it (`CrashSweep`, `FaultSweep`), nor what must then hold (`CrashRules`).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as Agent from "../Agent.ts"
import * as ToolExecutorToolkit from "../layers/ToolExecutorToolkit.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as RunInput from "../run/RunInput.ts"
import * as SessionStore from "../services/SessionStore.ts"
import type * as ToolExecutor from "../services/ToolExecutor.ts"
import * as CrashRules from "./CrashRules.ts"

/** Where one death, or one fault, takes place. */
export interface Place {
  /** the path of a folder for this place alone, removed afterwards: for the store, and for what tools do */
  readonly folder: string
  /** of a session for this place alone; the subject's input must name it */
  readonly sessionId: string
  /** `Sweep.argument` of a `CrashSweep`, else "" */
  readonly argument: string
}

/** What `subject` takes: an agent that is the same in every process that makes it. */
export interface Options<I, A, E> {
  /** returns the client of the agent under test: its class, or `Agent.make` */
  readonly agent: Effect.Effect<Agent.Client<A>, never, I>
  /**
   * The agent with its model, handlers and all, except for the two services that the sweep watches. The model must answer a
   * request the same in every process, such as a `ScriptedModel` by a function of the request.
   */
  readonly layer: Layer.Layer<I, E, SessionStore.SessionStore | ToolExecutor.ToolExecutor>
  /** a store that outlives its process: a file in `Place.folder`, a database */
  readonly store: Layer.Layer<SessionStore.SessionStore, E>
  /** its `sessionId` must be that of the `Place` */
  readonly input: RunInput.RunInput
  /** what the process does, in that session; default: `run` the input */
  readonly play?: (client: Agent.Client<A>) => Effect.Effect<unknown, unknown, Scope.Scope>
  /** the reason with which its runs are meant to fail; default: they do not fail */
  readonly fails?: RunError.RunError["reason"]["_tag"]
  /**
   * What the tools have done, as known outside the process: each effect with the `ToolCall.idempotencyKey` it was done
   * with. Default: not known, so nobody checks whether something was done twice.
   */
  readonly effects?: Effect.Effect<ReadonlyArray<CrashRules.Done>>
}

/** Puts something between an agent and its store and executor. */
export type Around = <E>(
  below: Layer.Layer<SessionStore.SessionStore | ToolExecutor.ToolExecutor, E>
) => Layer.Layer<SessionStore.SessionStore | ToolExecutor.ToolExecutor, E>

/** An agent with its store, made anew wherever it is used; see `subject`. */
export interface Subject extends Pick<Options<never, unknown, unknown>, "input" | "effects" | "store"> {
  /**
   * Makes the agent with all it needs, with `around` applied to its store and executor, while `body` works with its client.
   */
  readonly use: <B, E2>(
    body: (client: Agent.Client<unknown>) => Effect.Effect<B, E2, Scope.Scope>,
    around?: Around
  ) => Effect.Effect<B, unknown>
  /** what is done to it, with expected failures forgiven */
  readonly play: (client: Agent.Client<unknown>) => Effect.Effect<unknown, unknown, Scope.Scope>
  /** Continues where a run fails as `Options.fails` says; other errors stay. */
  readonly forgive: <R>(self: Effect.Effect<unknown, unknown, R>) => Effect.Effect<unknown, unknown, R>
}

/** Subjects by the names that reports use. */
export type Subjects = Readonly<Record<string, (place: Place) => Subject>>

/** An agent for sweeps to test. Its executor is that of toolkits. */
export const subject = <I, A, E>({ agent, effects, fails, input, layer, play, store }: Options<I, A, E>): Subject => {
  const below = Layer.merge(store, ToolExecutorToolkit.layer)
  const plays = (play as Subject["play"] | undefined) ?? ((client) => client.run(input))
  const isMeant = (error: unknown) => fails !== undefined && hasReason(error, fails)
  const forgive: Subject["forgive"] = (self) => Effect.catchIf(self, isMeant, () => Effect.void)
  return {
    input,
    store,
    ...(effects === undefined ? {} : { effects }),
    play: (client) => forgive(plays(client)),
    forgive,
    use: (body, around = (below) => below) =>
      Effect.flatMap(agent as Effect.Effect<Agent.Client<unknown>, never, I>, body).pipe(
        Effect.scoped,
        Effect.provide(Layer.provide(layer, around(below)), { local: true })
      )
  }
}

const hasReason = (error: unknown, tag: RunError.RunError["reason"]["_tag"]): boolean =>
  (error as { readonly reason?: { readonly _tag: string } } | null | undefined)?.reason?._tag === tag

/** What is stored of a session, read by a store of its own; empty for an unknown one. Fails, with the cause, where it cannot be read. */
export const logOf = (subject: Subject, sessionId: string): Effect.Effect<ReadonlyArray<RunEvent.Durable>, Error> =>
  Effect.provide(
    SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(sessionId))),
    subject.store
  ).pipe(
    Effect.catchIf((error) => hasReason(error, "SessionNotFound"), () => Effect.succeed([])),
    Effect.mapError((cause) => new Error(`the log cannot be read: ${CrashRules.words(Cause.fail(cause))}`, { cause }))
  )

/** A folder that is removed with its scope. */
export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "fiberloop-crash-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)
