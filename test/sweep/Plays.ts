/** What processes that a sweep kills do, besides running one input to its end. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Agent from "../../src/Agent.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import type * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as StoreFaults from "../../src/testing/StoreFaults.ts"

type Input = RunInput.RunInput & { readonly sessionId: string }

/** An earlier process lost its store at this operation; the one under test continues with what it left. */
export interface Cut {
  readonly at: number
  readonly goOn: "resume" | "hello"
}

/** What somebody says about a call that asks. */
export type Answer = Omit<RunInput.DecideInput, "sessionId" | "approvalId"> & { readonly callId: string }

/** What is said to a run at the first event of a type. */
export type Says = Readonly<Partial<Record<"TurnStarted" | "ToolStarted", "steer" | "followUp">>>

/** Makes a run of `subject` lose its store, then continues its session. */
export const goOnFrom = (subject: CrashSweep.Subject, sessionId: string, { at, goOn }: Cut) => {
  const faults = StoreFaults.make("down", at)
  const lose = subject.use((client) => Effect.andThen(Effect.exit(subject.play(client)), faults.clear), faults.around)
  return (client: Agent.Client<string>) =>
    Effect.andThen(
      lose,
      goOn === "hello"
        ? client.run({ sessionId, input: "hello" })
        : Stream.runDrain(client.resume({ sessionId }))
    )
}

/** Runs until people are asked, and resumes after each answer. */
export const answered = (answers: ReadonlyArray<Answer>, input: Input) => (client: Agent.Client<string>) =>
  Effect.andThen(
    client.run(input),
    Effect.forEach(answers, ({ callId, ...answer }) =>
      Effect.gen(function*() {
        const { sessionId } = input
        const approvalId = (yield* client.approvals(sessionId)).find((question) => question.callId === callId)?.id ?? ""
        yield* client.decide({ ...answer, sessionId, approvalId })
        yield* Stream.runDrain(client.resume({ sessionId }))
      }))
  )

/** Runs, then resumes with new limits. */
export const resumed = (limits: RunPolicy.LimitsInput, input: Input) => (client: Agent.Client<string>) =>
  Effect.andThen(client.run(input), Stream.runDrain(client.resume({ sessionId: input.sessionId, limits })))

/** Runs, then compacts the session by hand. */
export const compacted = (input: Input) => (client: Agent.Client<string>) =>
  Effect.andThen(client.run(input), client.compact(input.sessionId))

/** Aborts the run from outside when it comes to an event. */
export const abortAt = (tag: RunEvent.RunEvent["_tag"], input: Input) => (client: Agent.Client<string>) =>
  Effect.gen(function*() {
    const run = yield* client.start(input)
    yield* run.events.pipe(
      Stream.runForEach((event) => event._tag === tag ? Effect.forkScoped(run.abort) : Effect.void)
    )
    return yield* run.result
  })

/** Says something to the run when it comes to an event. */
export const sayAt = (says: Says, input: Input) => (client: Agent.Client<string>) =>
  Effect.gen(function*() {
    const run = yield* client.start(input)
    const left = new Map(Object.entries(says))
    yield* Stream.runForEach(run.events, ({ _tag }) => {
      const kind = left.get(_tag)
      left.delete(_tag)
      return kind === undefined ? Effect.void : Effect.forkScoped(run.queue(kind, `${kind}!`))
    })
    return yield* run.result
  })
