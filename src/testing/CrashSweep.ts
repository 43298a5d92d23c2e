/**
 * Kills an agent's process with SIGKILL before and after everything that lasts, in turn: each tool call, and each time that a
 * session is opened, written to, forked, removed or told something. Looks at what is left: the log, what was done outside, and
 * whether the session goes on. For agents of your own, with their own tools and store.
 *
 * ```ts
 * // subjects.ts, loaded by the processes that die and by the one that checks
 * export const subjects: CrashSweep.Subjects = {
 *   "one payment": ({ folder, sessionId }) =>
 *     CrashSweep.subject({ agent: Payer, layer, store: storeIn(folder), input: { input: "pay", sessionId } })
 * }
 * // in a test, on real time: every point takes a process
 * const report = yield* CrashSweep.sweep({ module: new URL("./subjects.ts", import.meta.url) })
 * assert.deepStrictEqual(report.failures, [])
 * ```
 *
 * Does not own what must hold (`CrashRules`), nor which moments are points (`CrashPoints`).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { open, readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as RunState from "../run/RunState.ts"
import * as CrashPoints from "./CrashPoints.ts"
import * as CrashRules from "./CrashRules.ts"
import { logOf, type Place, type Subject, type Subjects, temporary } from "./Subject.ts"
import * as SweepOptions from "./SweepOptions.ts"
import * as UserModule from "./UserModule.ts"

export {
  type Around,
  logOf,
  type Options,
  type Place,
  type Subject,
  subject,
  type Subjects,
  temporary
} from "./Subject.ts"

/**
 * How a session goes on after a death. `resume`: its run is resumed, then a message is sent. `hello`: a message is sent at once.
 * `recover`: the agent takes up all the runs that it finds, then a message is sent; needs a separate store for each `Place`.
 */
export type GoOn = "resume" | "recover" | "hello"

/** What `sweep` takes. */
export interface Sweep {
  /** of a module that exports `subjects`; Node loads it, also as TypeScript if its types can be stripped */
  readonly module: URL
  /** passed to the subjects in every process, such as the URL of a database; default "" */
  readonly argument?: string
  /** the names of the subjects to try; default all */
  readonly only?: ReadonlyArray<string>
  /** default `resume` and `hello`: each needs a death of its own */
  readonly goOn?: ReadonlyArray<GoOn>
  /** try every n-th point; default 1, all of them */
  readonly every?: number
  /** how many processes at once; default 2 */
  readonly concurrency?: number
}

/** Something that did not hold. */
export interface Failure {
  /** the subject's name */
  readonly subject: string
  /** the number of the point, and what happened there: `3, after storing ToolStarted` */
  readonly point: string
  readonly goOn: GoOn
  /** what was wrong, in words */
  readonly what: string
}

/** What a sweep tried, and what did not hold. */
export interface Report {
  /** deaths, over all subjects and ways to go on; 0 means that nothing was tried */
  readonly points: number
  /** empty where everything held */
  readonly failures: ReadonlyArray<Failure>
}

/**
 * Plays every subject again and again, in a process that is killed at its first point, its second, and so on until it
 * ends by itself. Looks at what each death left and at how the session goes on, and reports what does not hold. It also
 * reports a process that ended with an error of its own, and then tries no further point of that subject and way to go
 * on. A module that cannot be loaded or exports no subjects, a number that is no whole one of at least 1, and a name or way that
 * there is not, are defects.
 */
export const sweep = Effect.fnUntraced(function*(options: Sweep): Effect.fn.Return<Report> {
  yield* SweepOptions.check("CrashSweep", { every: options.every, concurrency: options.concurrency })
  yield* SweepOptions.among("CrashSweep", "goOn", options.goOn, ways)
  const { argument = "", every = 1, goOn = ["resume", "hello"], module } = options
  const subjects = yield* subjectsOf(module)
  yield* SweepOptions.among("CrashSweep", "only", options.only, Object.keys(subjects))
  const reports = yield* Effect.forEach(
    options.only ?? Object.keys(subjects),
    (name) => sweepOne({ module, name, ways: goOn, make: subjects[name]!, every, argument }),
    { concurrency: options.concurrency ?? 2 }
  )
  return { points: reports.reduce((n, { points }) => n + points, 0), failures: reports.flatMap((_) => _.failures) }
})

const ways: ReadonlyArray<GoOn> = ["resume", "recover", "hello"]

/** What the module exports; it has at least one. */
const subjectsOf = (module: URL): Effect.Effect<Subjects> =>
  Effect.flatMap(Effect.promise(() => UserModule.load<{ readonly subjects?: Subjects }>(module.href)), (exported) => {
    const { subjects } = exported
    if (typeof subjects === "object" && subjects !== null && Object.keys(subjects).length > 0) {
      return Effect.succeed(subjects)
    }
    const has = Object.keys(exported).join(", ") || "nothing"
    return SweepOptions.refuse("CrashSweep", `${module.href} must export subjects by their names; it exports ${has}`)
  })

interface One {
  readonly module: URL
  readonly name: string
  readonly ways: ReadonlyArray<GoOn>
  readonly make: Subjects[string]
  readonly every: number
  readonly argument: string
}

const sweepOne = Effect.fnUntraced(
  function*({ argument, every, make, module, name, ways }: One): Effect.fn.Return<Report> {
    const failures: Array<Failure> = []
    let points = 0
    // the ways to go on that still have points; once a process ends by itself, none of them has
    let left = ways
    for (let at = 1; left.length > 0; at += every) {
      for (const goOn of left) {
        const died = yield* Effect.scoped(Effect.gen(function*() {
          const folder = yield* temporary
          const place = { folder, sessionId: `${name} ${goOn} ${at} ${process.pid}`, argument }
          const death = yield* kill(module, name, place, at)
          if (death._tag === "Finished") return death._tag
          const fail = (what: string) => failures.push({ subject: name, point: death.point, goOn, what })
          if (death._tag === "Broke") {
            fail(death.output)
            return death._tag
          }
          points++
          const found = yield* look(make(place), place, goOn, death.confirmed)
          found.forEach(fail)
          return death._tag
        }))
        if (died === "Finished") return { points, failures }
        // later points cannot be reached either
        if (died === "Broke") left = left.filter((way) => way !== goOn)
      }
    }
    return { points, failures }
  }
)

type Death =
  | { readonly _tag: "Killed"; readonly point: string; readonly confirmed: number }
  /** the process has fewer points */
  | { readonly _tag: "Finished" }
  | { readonly _tag: "Broke"; readonly point: string; readonly output: string }

/** Asked when a sweep starts: other modules of a bundle need no `import.meta`. */
const child = () =>
  fileURLToPath(new URL(`./CrashChild.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url))

/** Starts a process that dies at a point, and waits for its end; what it has started itself may live on. */
const kill = Effect.fnUntraced(
  function*(module: URL, name: string, place: Place, at: number): Effect.fn.Return<Death, never, Scope.Scope> {
    const args = [
      ...process.execArgv.filter((arg) => !/inspect/.test(arg)),
      child(),
      module.href,
      name,
      JSON.stringify(place),
      String(at)
    ]
    const broke = (output: string): Death => ({ _tag: "Broke", point: `${at}`, output })
    // a pipe would stay open as long as anybody has it whom the process started
    const file = join(yield* temporary, "stderr")
    const stderr = yield* Effect.acquireRelease(
      Effect.promise(() => open(file, "a")),
      (handle) => Effect.promise(() => handle.close())
    )
    const end = yield* ended(args, stderr.fd)
    if (typeof end === "string") return broke(`the process could not be started: ${end}`)
    const output = yield* Effect.promise(() => readFile(file, "utf8"))
    const { code, signal } = end
    if (signal === "SIGKILL") {
      return { _tag: "Killed", point: `${at}`, confirmed: 0, ...CrashPoints.lastWordsIn(output) }
    }
    return code === 0 ? { _tag: "Finished" } : broke(`the process ended with ${code ?? signal}: ${output.trim()}`)
  }
)

interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Runs Node; why it could not be started, if it could not. */
const ended = (args: ReadonlyArray<string>, stderr: number): Effect.Effect<End | string> =>
  Effect.callback((resume) => {
    const dying = spawn(process.execPath, args, { stdio: ["ignore", "ignore", stderr] })
    dying.on("error", ({ message }) => resume(Effect.succeed(message)))
    dying.on("exit", (code, signal) => resume(Effect.succeed({ code, signal })))
    return Effect.sync(() => dying.kill("SIGKILL"))
  })

/** What is wrong with what a death left, and with how the session goes on. */
const look = (
  subject: Subject,
  { sessionId }: Place,
  goOn: GoOn,
  confirmed: number
): Effect.Effect<ReadonlyArray<string>> => {
  const log = logOf(subject, sessionId)
  const effects = subject.effects ?? Effect.succeed(undefined)
  const found: Array<string> = []
  return Effect.gen(function*() {
    const before = yield* log
    found.push(
      ...CrashRules.afterDeath(sessionId, before, yield* effects),
      ...CrashRules.cutShort(before, confirmed)
    )
    const said = yield* subject.use(Effect.fnUntraced(function*(client) {
      // a session may be compacted by hand after its last end
      const { crashes, end, runId } = before.reduce(RunState.evolve, RunState.empty)
      const isUnfinished = runId !== undefined && end?._tag !== "RunCompleted"
      if (goOn === "resume" && isUnfinished) yield* subject.forgive(Stream.runDrain(client.resume({ sessionId })))
      if (goOn === "recover") {
        const { refused, runs } = yield* client.recover({ answered: true })
        found.push(...refused.map(({ error }) => `it cannot be taken up: ${error.message}`))
        yield* Effect.forEach(runs, ({ result }) => subject.forgive(result), { concurrency: "unbounded" })
        // a run that had died before waits for its turn
        const isOpen = crashes === 0 && RunState.isOpen((yield* log).reduce(RunState.evolve, RunState.empty))
        if (isOpen) found.push("its run was not taken up")
      }
      return yield* client.run({ input: "hello", sessionId })
    }))
    if (said._tag !== "Completed") found.push(`"hello" was not answered: ${said.explain}`)
    return [...found, ...CrashRules.afterRecovery(sessionId, before, yield* log, yield* effects)]
  }).pipe(Effect.catchCause((cause) => Effect.succeed([...found, `it does not go on: ${CrashRules.words(cause)}`])))
}
