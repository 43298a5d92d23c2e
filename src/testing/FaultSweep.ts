/**
 * Makes the n-th operation of an agent's store fail, for n = 1, 2, 3 ... until a run has no such operation, and looks at
 * what is left: how the run ended, the log, what was done outside, and whether the session goes on, here and in a new
 * store. Takes the same subjects as `CrashSweep`, in one process.
 *
 * ```ts
 * const report = yield* FaultSweep.sweep({ subjects })
 * assert.deepStrictEqual(report.failures, [])
 * ```
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type * as Agent from "../Agent.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as CrashRules from "./CrashRules.ts"
import * as LogRules from "./LogRules.ts"
import * as StoreFaults from "./StoreFaults.ts"
import * as Subject from "./Subject.ts"
import * as SweepOptions from "./SweepOptions.ts"

/** Something that happens to the store itself, such as a lock on its file. */
export interface Outage extends Omit<StoreFaults.Outage, "begin"> {
  /** Its result ends the outage; whatever else it started ends with the scope. */
  readonly begin: Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
  /** the only store reason that runs may fail with during the outage; default any */
  readonly reason?: "StoreUnavailable" | "StoreRefused"
  /**
   * which stores refuse messages during the outage: the one that it hits, and one opened during it; default none
   */
  readonly refuses?: ReadonlyArray<"open" | "new">
  /** whether the store that was hit stays out of order afterwards, while one opened then works */
  readonly needsRestart?: boolean
}

/** What `sweep` takes. */
export interface Sweep {
  /** the same as for `CrashSweep`: made by `CrashSweep.subject` */
  readonly subjects: Subject.Subjects
  /** default all: see `StoreFaults.Fault` */
  readonly faults?: ReadonlyArray<StoreFaults.Fault>
  /** what may happen to the store in this place, the same list for every place; default nothing */
  readonly outages?: (place: Subject.Place) => ReadonlyArray<Outage>
  /** try every n-th operation; default 1, all of them */
  readonly every?: number
}

/** Something that did not hold. */
export interface Failure {
  /** the subject's name */
  readonly subject: string
  /** the fault, or the outage's name */
  readonly fault: string
  /** the number of the operation, and what it was: `3, storing ToolStarted` */
  readonly point: string
  /** what was wrong, in words */
  readonly what: string
}

/** What a sweep tried, and what did not hold. */
export interface Report {
  /** operations that failed, over all subjects and faults; 0 means that nothing was tried */
  readonly points: number
  /** empty where everything held */
  readonly failures: ReadonlyArray<Failure>
}

/**
 * Plays every subject again and again in this process. For every fault, makes the first operation of the store fail, then
 * the second, and so on until there are no more. Reports what does not hold. An `every` that is no
 * whole number of at least 1, and a fault that there is not, are defects.
 */
export const sweep = Effect.fnUntraced(function*(options: Sweep): Effect.fn.Return<Report> {
  yield* SweepOptions.check("FaultSweep", { every: options.every })
  yield* SweepOptions.among("FaultSweep", "faults", options.faults, StoreFaults.faults, options.outages !== undefined)
  const { every = 1, faults = StoreFaults.faults, outages = () => [], subjects } = options
  const failures: Array<Failure> = []
  let points = 0
  // different operations are skipped each time
  let way = 0
  const ofPlace = (place: Subject.Place) => [...faults, ...outages(place)]
  const kinds = ofPlace({ folder: "", sessionId: "", argument: "" }).length
  for (const [name, make] of Object.entries(subjects)) {
    for (let kind = 0; kind < kinds; kind++) {
      for (let at = 1 + way++ % every;; at += every) {
        const tried = yield* Effect.scoped(Effect.gen(function*() {
          const place = { folder: yield* Subject.temporary, sessionId: `${name} ${kind} ${at}`, argument: "" }
          const fault = ofPlace(place)[kind]!
          const outage: Omit<Outage, "begin"> = typeof fault === "string" ? { name: fault } : fault
          const faults = StoreFaults.make(typeof fault === "string" ? fault : yield* scoped(fault), at)
          const result = yield* attempt(make(place), place, faults, outage)
          return result && { ...result, fault: outage.name }
        }))
        if (tried === undefined) break
        points++
        const { fault, found, hit } = tried
        failures.push(...found.map((what) => ({ subject: name, fault, point: `${at}, ${hit}`, what })))
      }
    }
  }
  return { points, failures }
})

const scoped = ({ begin, name, passes = false }: Outage): Effect.Effect<StoreFaults.Outage, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => ({ name, passes, begin: Scope.provide(begin, scope) }))

/** What was wrong; `undefined` where nothing failed because there are fewer operations. */
const attempt = Effect.fnUntraced(function*(
  subject: Subject.Subject,
  { sessionId }: Subject.Place,
  faults: StoreFaults.StoreFaults,
  { needsRestart = false, reason, refuses = [] }: Omit<Outage, "begin">
) {
  const log = Subject.logOf(subject, sessionId)
  const effects = subject.effects ?? Effect.succeed(undefined)
  const found: Array<string> = []

  const greet = (client: Agent.Client<unknown>) => client.run({ input: "hello", sessionId })

  const hello = Effect.fnUntraced(function*(client: Agent.Client<unknown>, who: string) {
    const before = yield* log
    const said = yield* Effect.exit(greet(client))
    if (Exit.isFailure(said)) found.push(`${who} does not answer "hello": ${CrashRules.words(said.cause)}`)
    else if (said.value._tag !== "Completed") found.push(`${who} does not answer "hello": ${said.value.explain}`)
    found.push(...CrashRules.afterRecovery(sessionId, before, yield* log, yield* effects))
  })

  const used = yield* Effect.exit(subject.use(
    Effect.fnUntraced(function*(client) {
      const exit = yield* Effect.exit(subject.play(client))
      const hit = faults.hit()
      if (hit === undefined) return
      found.push(...untyped(exit, reason))
      if (refuses.includes("open")) found.push(...accepted(yield* Effect.exit(greet(client)), reason))
      if (refuses.includes("new")) found.push(...accepted(yield* Effect.exit(subject.use(greet)), reason))
      yield* faults.clear
      // an end may still be on its way to the store
      const acknowledged = faults.acknowledged()
      const left = yield* log
      found.push(
        ...CrashRules.afterDeath(sessionId, left, yield* effects),
        ...CrashRules.lost(acknowledged, left),
        ...unended(left, faults)
      )
      if (!needsRestart) yield* hello(client, "the agent")
    }),
    faults.around
  ))
  if (Exit.isFailure(used)) found.push(`the agent breaks: ${CrashRules.words(used.cause)}`)
  const hit = faults.hit()
  if (hit === undefined) return undefined
  const again = yield* Effect.exit(subject.use((client) => hello(client, "the agent on a new store")))
  if (Exit.isFailure(again)) found.push(`the agent on a new store breaks: ${CrashRules.words(again.cause)}`)
  return { hit, found }
})

type Reason = Outage["reason"]

/** A run ends with a result or a typed error, never with a defect or an interruption that nobody asked for. */
const untyped = (exit: Exit.Exit<unknown, unknown>, expected: Reason): ReadonlyArray<string> => {
  if (Exit.isSuccess(exit)) return []
  const error = Cause.findErrorOption(exit.cause)
  if (error._tag === "None") return [`the run ended without a typed error: ${CrashRules.words(exit.cause)}`]
  const { _tag: tag, reason } = error.value as { readonly _tag?: unknown; readonly reason?: { readonly _tag: string } }
  if ((tag !== "RetryableError" && tag !== "NonRetryableError") || reason?._tag === "Unknown") {
    return [`the run ended with an error that is not of the store: ${CrashRules.words(exit.cause)}`]
  }
  return expected === undefined || reason?._tag === expected
    ? []
    : [`the run ended with ${reason?._tag}, not ${expected}: ${CrashRules.words(exit.cause)}`]
}

/** A store that is out of order refuses messages, and says why. */
const accepted = (exit: Exit.Exit<unknown, unknown>, expected: Reason): ReadonlyArray<string> =>
  Exit.isSuccess(exit) ? ["a message was taken by a store that is out of order"] : untyped(exit, expected)

/** If the store takes the end, the log has it. */
const unended = (log: ReadonlyArray<RunEvent.Durable>, faults: StoreFaults.StoreFaults): ReadonlyArray<string> =>
  faults.mayLackEnd() ? [] : LogRules.violations(log)
