/**
 * An agent whose tools ask for permission, an approver that a test answers, and what every log with questions in it must
 * satisfy.
 */
import * as Toolkit from "effect/ai/Toolkit"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as Approver from "../../src/services/Approver.ts"
import * as LogRules from "../../src/testing/LogRules.ts"
import type * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "./TestAgent.ts"

/** `look` says nothing about approval, `again` says that it needs none, `work` is as given. */
export const withWork = (work: typeof TestAgent.kit.tools.work) =>
  Toolkit.make(work, TestAgent.kit.tools.look, TestAgent.kit.tools.again.setNeedsApproval(false))

/** `work` asks. */
export const kit = withWork(TestAgent.kit.tools.work.setNeedsApproval(true))

export const yes: Approver.Answer = { approved: true, by: "ann" }
export const no = (reason: string): Approver.Answer => ({ approved: false, by: "ann", reason })

export const answering = (answer: (question: Approver.Question) => Approver.Answer | undefined): Approver.Approver => ({
  ask: (question) => Effect.sync(() => answer(question))
})

export interface Desk extends Approver.Approver {
  readonly questions: ReadonlyArray<Approver.Question>
  /** calls whose question was cut off before an answer */
  readonly interrupted: ReadonlyArray<string>
  /** the question about this call has arrived */
  readonly asked: (callId: string) => Effect.Effect<Approver.Question>
  /** answers the question about this call; `undefined` stands for nobody */
  readonly answer: (callId: string, answer: Approver.Answer | undefined) => Effect.Effect<void>
}

/** An approver that answers when the test says so. */
export const desk = (): Desk => {
  const questions: Array<Approver.Question> = []
  const interrupted: Array<string> = []
  const gates = <A>() => {
    const made = new Map<string, Deferred.Deferred<A>>()
    return (callId: string) => {
      const gate = made.get(callId) ?? Deferred.makeUnsafe<A>()
      made.set(callId, gate)
      return gate
    }
  }
  const asked = gates<Approver.Question>()
  const answers = gates<Approver.Answer | undefined>()
  return {
    questions,
    interrupted,
    ask: (question) =>
      Effect.suspend(() => {
        questions.push(question)
        Deferred.doneUnsafe(asked(question.callId), Effect.succeed(question))
        return Deferred.await(answers(question.callId))
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => interrupted.push(question.callId)))),
    asked: (callId) => Deferred.await(asked(callId)),
    answer: (callId, answer) => Effect.asVoid(Deferred.succeed(answers(callId), answer))
  }
}

export interface Asking extends TestAgent.TestAgent {
  /** `n` of every handler that ran, in order */
  readonly ran: ReadonlyArray<number>
}

/** A test agent of `kit` whose layer has `approver`; without one, nobody answers. */
export const make = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  options: TestAgent.Options & { readonly approver?: Approver.Approver } = {}
): Effect.fn.Return<Asking, never, Scope.Scope> {
  const { agent, approver, tool, ...rest } = options
  const ran: Array<number> = []
  const made = TestAgent.make(turns, {
    ...rest,
    agent: { toolkit: kit, ...agent },
    tool: (params) =>
      Effect.suspend(() => {
        ran.push(params.n)
        return tool?.(params) ?? Effect.succeed(`done ${params.n}`)
      })
  })
  const asking = approver === undefined ? made : Effect.provideService(made, Approver.Approver, approver)
  return { ...(yield* asking), ran }
})

export const fold = (log: ReadonlyArray<RunEvent.Durable>): RunState.RunState =>
  log.reduce(RunState.evolve, RunState.empty)

/** `ApprovalRequested 1.0`: the events of calls in their order, with the answer or the outcome. */
export const steps = (events: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  events.flatMap((event) => {
    switch (event._tag) {
      case "ApprovalRequested":
      case "ToolStarted":
        return [`${event._tag} ${event.callId}`]
      case "ApprovalResolved":
        return [`${event._tag} ${event.callId} ${event.approved ? "yes" : "no"}`]
      case "ToolSettled":
        return [`${event._tag} ${event.callId} ${event.outcome._tag}`]
      default:
        return RunEvent.isEnd(event) || event._tag === "RunResumed" ? [event._tag] : []
    }
  })

/**
 * What is wrong, in words, with a log of runs that no process died over: beside what `LogRules` says, a call that ran runs
 * again, unless it paused, or one that was denied has another outcome. The last drive needs an end unless `mayBeOpen`.
 */
export const violations = (log: ReadonlyArray<RunEvent.Durable>, mayBeOpen = false): Array<string> => {
  const found = LogRules.violations(log, mayBeOpen)
  const [ran, denied] = [new Set<string>(), new Set<string>()]
  for (const event of log) {
    if (!("callId" in event)) continue
    const call = `${event.runId}/${event.callId}`
    const say = (what: string) => found.push(`event ${event.seq} (${event._tag}): ${call} ${what}`)
    if (event._tag === "ToolStarted" && ran.has(call)) say("runs again")
    if (event._tag === "ToolStarted") ran.add(call)
    if (event._tag === "ToolPaused") ran.delete(call)
    if (event._tag === "ApprovalResolved" && !event.approved) denied.add(call)
    if (event._tag === "ToolSettled" && denied.has(call) && event.outcome._tag !== "Denied") say("was denied")
  }
  return found
}

/** An agent's stream in a process where `approver` answers. */
export const by = <A, E, R>(approver: Approver.Approver, self: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.provideService(self, Approver.Approver, approver)
