/** Providers that reject a context as too large, and runs that end either way. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Message from "../../src/run/Message.ts"
import * as MessageTokens from "../../src/run/MessageTokens.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as TokenEstimate from "../../src/run/TokenEstimate.ts"
import type * as Model from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "./Condensing.ts"
import * as RunLog from "./RunLog.ts"
import type * as TestAgent from "./TestAgent.ts"

export const overflow = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "ContextOverflow", message: "too long" })
)

export const refused = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "who are you" })
)

/** Answers requests of at most this many characters. */
export const above = (characters: number, turn: ScriptedModel.Turn = ScriptedModel.text("ok")) =>
(
  request: Model.ModelRequest
): ScriptedModel.Turn => lengthOf(request) > characters ? overflow : turn

export const lengthOf = (request: Model.ModelRequest): number => Condensing.textOf(request).length

const counter = MessageTokens.make(TokenEstimate.text)

/** Tokens of a request's messages, as estimated. */
export const tokensOf = ({ messages }: Model.ModelRequest): number => counter.messages(messages)

/** Messages in turn, of this many characters each. */
export const history = (n: number, length = 60): NonNullable<RunInput.RunInput["history"]> =>
  Array.from({ length: n }, (_, i) => ({
    role: i % 2 === 0 ? "user" as const : "assistant" as const,
    content: [Message.text(`message ${i}: ${"and so on ".repeat(Math.ceil(length / 10))}`.slice(0, length))]
  }))

/** A run of session "s" to its end; what is in the log is legal. */
export const run = Effect.fnUntraced(function*(
  made: Pick<TestAgent.TestAgent, "agent" | "store" | "script">,
  input: Partial<RunInput.RunInput> = {}
) {
  const exit = yield* Effect.exit(made.agent.run({ sessionId: "s", input: "go", ...input }))
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  const requests = yield* made.script.requests
  return { exit, log, end: RunLog.endOf(log), requests, compacted: RunLog.only(log, "ContextCompacted") }
})

/** What a request says besides instructions, one text for each message. */
export const said = ({ messages }: Model.ModelRequest): ReadonlyArray<string> =>
  messages.filter(({ role }) => role !== "system").map((message) => JSON.stringify(message))
