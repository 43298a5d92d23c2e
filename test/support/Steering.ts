/** Inputs of a run as tests want to see them: what was said to it, what its model was asked, what a dead run left. */
import * as Effect from "effect/Effect"
import type * as Agent from "../../src/Agent.ts"
import type * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as Model from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "./RunLog.ts"
import * as TestAgent from "./TestAgent.ts"
import * as TestStore from "./TestStore.ts"

const textsOf = (messages: ReadonlyArray<Message.UserMessage>) =>
  messages.flatMap(({ content }) => content).flatMap((part) => part.type === "text" ? [part.text] : []).join("+")

/** `steer: words`, in the order of the log. */
export const queued = (log: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  RunLog.only(log, "InputQueued").map(({ kind, messages }) => `${kind}: ${textsOf(messages)}`)

export const received = (log: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  RunLog.only(log, "InputReceived").map(({ kind, messages }) => `${kind}: ${textsOf(messages)}`)

/** The user's words in a request, one entry for each message. */
export const said = (request: Model.ModelRequest | undefined): Array<string> =>
  request?.messages.flatMap((message) => message.role === "user" ? [textsOf([message])] : []) ?? []

/** The roles of a request's messages after the system's. */
export const roles = (request: Model.ModelRequest | undefined): Array<string> =>
  request?.messages.slice(1).map(({ role }) => role) ?? []

/** The decisions after the turns, with their reasons. */
export const decisions = (log: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  RunLog.only(log, "TurnFinished").map(({ decision }) =>
    `${decision._tag}${"reason" in decision ? ` ${decision.reason}` : ""}`
  )

/** A store with the first writes of another, as left by a process that dies after them. */
export const left = Effect.fnUntraced(function*(batches: ReadonlyArray<TestStore.Batch>) {
  const store = yield* TestStore.make()
  yield* Effect.scoped(Effect.gen(function*() {
    const session = yield* store.service.open("s", { runId: "r", create: true })
    for (const batch of batches) yield* session.append(batch)
  }))
  return store
}, Effect.orDie)

/** A run whose first answer is held, and what it says from then on. */
export const held = Effect.fnUntraced(function*(
  answer: ReadonlyArray<ScriptedModel.Step>,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  options: TestAgent.Options = {},
  input: Partial<Parameters<Agent.Client<string>["start"]>[0]> = {}
) {
  const gate = yield* ScriptedModel.makeGate
  const made = yield* TestAgent.make([[...answer, ScriptedModel.gate(gate)], ...turns], options)
  const run = yield* made.agent.start({ sessionId: "s", runId: "r", input: "go", ...input })
  yield* gate.started
  return { ...made, gate, run }
})

/** Says something, and returns what becomes of it once the store has it. */
export const say = (run: Agent.Run<string>, kind: "steer" | "followUp", message: string) =>
  Effect.flatMap(run.queue(kind, message), Effect.forkChild)
