/**
 * Kills a process of an agent with SIGKILL before and after every write and every tool call in turn, and looks at what is
 * left: the log, what was done outside, and whether the session goes on. For agents of one's own, with their own tools
 * and store.
 *
 * ```ts
 * // subjects.ts, loaded by the processes that die and by the one that looks
 * export const subjects: CrashSweep.Subjects = {
 *   "one payment": ({ folder, sessionId }) => CrashSweep.subject({ agent: Payer, layer, input: { input: "pay", sessionId } })
 * }
 * // in a test
 * const report = yield* CrashSweep.sweep({ module: new URL("./subjects.ts", import.meta.url) })
 * assert.deepStrictEqual(report.failures, [])
 * ```
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type * as Agent from "../Agent.ts"
import * as ToolExecutorToolkit from "../layers/ToolExecutorToolkit.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as RunInput from "../run/RunInput.ts"
import * as RunState from "../run/RunState.ts"
import * as SessionStore from "../services/SessionStore.ts"
import type * as ToolExecutor from "../services/ToolExecutor.ts"
import * as CrashRules from "./CrashRules.ts"
import * as UserModule from "./UserModule.ts"

/** Where one death takes place: a folder of its own, that is removed afterwards, and a session of its own. */
export interface Place {
  readonly folder: string
  readonly sessionId: string
  /** what the sweep was given */
  readonly argument: string
}

export interface Options<I, A, E> {
  /** gives the client of the agent under test: its class, or `Agent.make` */
  readonly agent: Effect.Effect<Agent.Client<A>, never, I>
  /** the agent with its model, handlers and all, but for the two services that the sweep watches */
  readonly layer: Layer.Layer<I, E, SessionStore.SessionStore | ToolExecutor.ToolExecutor>
  /** a store that outlives its process */
  readonly store: Layer.Layer<SessionStore.SessionStore, E>
  readonly input: RunInput.RunInput
  /** what the process does; default: `run` the input */
  readonly play?: (client: Agent.Client<A>) => Effect.Effect<unknown, unknown, Scope.Scope>
  /** the reason that its runs fail with, where they are made to fail; default: they do not */
  readonly fails?: RunError.RunError["reason"]["_tag"]
  /** What the tools have done, as it is known outside of the process. Default: nothing is known. */
  readonly effects?: Effect.Effect<ReadonlyArray<CrashRules.Done>>
}

/** Puts something between an agent and its store and executor. */
export type Around = <E>(
  below: Layer.Layer<SessionStore.SessionStore | ToolExecutor.ToolExecutor, E>
) => Layer.Layer<SessionStore.SessionStore | ToolExecutor.ToolExecutor, E>

/** An agent with its store, made anew in each process. */
export interface Subject extends Pick<Options<never, unknown, unknown>, "input" | "effects" | "store"> {
  readonly use: <B, E2>(
    body: (client: Agent.Client<unknown>) => Effect.Effect<B, E2, Scope.Scope>,
    around?: Around
  ) => Effect.Effect<B, unknown>
  readonly play: (client: Agent.Client<unknown>) => Effect.Effect<unknown, unknown, Scope.Scope>
  /** goes on where a run fails as it was made to */
  readonly forgive: <R>(self: Effect.Effect<unknown, unknown, R>) => Effect.Effect<unknown, unknown, R>
}

export type Subjects = Readonly<Record<string, (place: Place) => Subject>>

export const subject = <I, A, E>({ agent, effects, fails, input, layer, play, store }: Options<I, A, E>): Subject => {
  const below = Layer.merge(store, ToolExecutorToolkit.layer)
  const plays = (play as Subject["play"] | undefined) ?? ((client) => client.run(input))
  const isMeant = (error: unknown) =>
    fails !== undefined && (error as { readonly reason?: { readonly _tag: string } }).reason?._tag === fails
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

/** How a session goes on after a death: its run is resumed and then a message sent, or a message sent at once. */
export type GoOn = "resume" | "hello"

export interface Sweep {
  /** of a module that exports `subjects` */
  readonly module: URL
  /** given to the subjects in every process, such as the URL of a database; default "" */
  readonly argument?: string
  /** by name; default all */
  readonly only?: ReadonlyArray<string>
  /** default both: each takes a death of its own */
  readonly goOn?: ReadonlyArray<GoOn>
  /** try every n-th point; default 1, all of them */
  readonly every?: number
  /** how many processes at once. Default 2. */
  readonly concurrency?: number
}

export interface Failure {
  readonly subject: string
  /** `3, after storing ToolStarted` */
  readonly point: string
  readonly goOn: GoOn
  readonly what: string
}

export interface Report {
  /** points tried, over all subjects and ways to go on */
  readonly points: number
  readonly failures: ReadonlyArray<Failure>
}

export const sweep = Effect.fnUntraced(function*(options: Sweep): Effect.fn.Return<Report> {
  const { subjects } = yield* Effect.promise(() =>
    UserModule.load<{ readonly subjects: Subjects }>(options.module.href)
  )
  const names = options.only ?? Object.keys(subjects)
  const ways = names.flatMap((name) => (options.goOn ?? ["resume", "hello"]).map((goOn) => ({ name, goOn })))
  const reports = yield* Effect.forEach(
    ways,
    ({ goOn, name }) => {
      const { argument = "", every = 1, module } = options
      return sweepOne({ module, name, goOn, make: subjects[name]!, every, argument })
    },
    { concurrency: options.concurrency ?? 2 }
  )
  return { points: reports.reduce((n, { points }) => n + points, 0), failures: reports.flatMap((_) => _.failures) }
})

interface One {
  readonly module: URL
  readonly name: string
  readonly goOn: GoOn
  readonly make: Subjects[string]
  readonly every: number
  readonly argument: string
}

const sweepOne = Effect.fnUntraced(
  function*({ argument, every, goOn, make, module, name }: One): Effect.fn.Return<Report> {
    const failures: Array<Failure> = []
    let points = 0
    for (let at = 1;; at += every) {
      const isOver = yield* Effect.scoped(Effect.gen(function*() {
        const folder = yield* temporary
        const place = { folder, sessionId: `${name} ${goOn} ${at} ${process.pid}`, argument }
        const death = yield* kill(module, name, place, at)
        if (death._tag === "Finished") return true
        points++
        const fail = (what: string) => failures.push({ subject: name, point: death.point, goOn, what })
        if (death._tag === "Broke") fail(death.output)
        else (yield* look(make(place), place, goOn)).forEach(fail)
        return false
      }))
      if (isOver) return { points, failures }
    }
  }
)

/** A folder that goes with its scope. */
export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "fiberloop-crash-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

type Death =
  | { readonly _tag: "Killed"; readonly point: string }
  /** there are not so many points */
  | { readonly _tag: "Finished" }
  | { readonly _tag: "Broke"; readonly point: string; readonly output: string }

const child = fileURLToPath(new URL(`./CrashChild.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url))

/** Starts a process that dies at a point, and awaits its end. */
const kill = (module: URL, name: string, place: Place, at: number): Effect.Effect<Death> =>
  Effect.callback<Death>((resume) => {
    const args = [
      ...process.execArgv.filter((arg) => !/inspect/.test(arg)),
      child,
      module.href,
      name,
      JSON.stringify(place)
    ]
    const dying = spawn(process.execPath, [...args, String(at)], { stdio: ["ignore", "ignore", "pipe"] })
    let output = ""
    dying.stderr.setEncoding("utf8").on("data", (text: string) => (output += text))
    dying.on("close", (code, signal) => {
      const [point = `${at}`] = output.split("\n")
      resume(Effect.succeed(
        signal === "SIGKILL"
          ? { _tag: "Killed", point }
          : code === 0
          ? { _tag: "Finished" }
          : { _tag: "Broke", point: `${at}`, output: `the process ended with ${code ?? signal}: ${output.trim()}` }
      ))
    })
    return Effect.sync(() => dying.kill("SIGKILL"))
  })

/** What is stored, read by a store of its own. */
export const logOf = (subject: Subject, sessionId: string): Effect.Effect<ReadonlyArray<RunEvent.Durable>> =>
  Effect.provide(
    SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(sessionId))),
    subject.store
  ).pipe(Effect.orElseSucceed((): Array<RunEvent.Durable> => []))

/** What is wrong with what a death left, and with how it goes on. */
const look = (subject: Subject, { sessionId }: Place, goOn: GoOn): Effect.Effect<ReadonlyArray<string>> => {
  const log = logOf(subject, sessionId)
  const effects = subject.effects ?? Effect.succeed(undefined)
  return Effect.gen(function*() {
    const before = yield* log
    const found = [...CrashRules.afterDeath(before, yield* effects)]
    const said = yield* subject.use(Effect.fnUntraced(function*(client) {
      // a session may be compacted by hand behind its last end
      const { end, runId } = before.reduce(RunState.evolve, RunState.empty)
      const isUnfinished = runId !== undefined && end?._tag !== "RunCompleted"
      if (goOn === "resume" && isUnfinished) yield* subject.forgive(Stream.runDrain(client.resume({ sessionId })))
      return yield* client.run({ input: "hello", sessionId })
    }))
    if (said._tag !== "Completed") found.push(`"hello" was not answered: ${said.explain}`)
    return [...found, ...CrashRules.afterRecovery(before, yield* log, yield* effects)]
  }).pipe(Effect.catchCause((cause) => Effect.succeed([`it does not go on: ${CrashRules.words(cause)}`])))
}
