/**
 * A process that works with the agent as it is told: one JSON command a line on standard input, on standard output one JSON answer
 * for each, and what happens besides. It ends as a program does on SIGTERM: its layers are closed.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { createInterface } from "node:readline"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as WorkerAgent from "./WorkerAgent.ts"

export type Command =
  | { readonly do: "run"; readonly input: RunInput.RunInput }
  /** as `run`, without waiting for the end */
  | { readonly do: "start"; readonly input: RunInput.RunInput }
  | { readonly do: "resume"; readonly input: RunInput.ResumeInput }
  | { readonly do: "decide"; readonly input: RunInput.DecideInput }
  | { readonly do: "abort" | "compact" | "remove" | "approvals"; readonly sessionId: string }
  | { readonly do: "steer"; readonly sessionId: string; readonly text: string }
  /** as `steer`, to a run of whatever process */
  | { readonly do: "say"; readonly sessionId: string; readonly text: string }
  | { readonly do: "fork"; readonly sessionId: string; readonly to: string; readonly at?: number }
  | { readonly do: "recover"; readonly input?: RunInput.RecoverInput }
  /** opens a gate */
  | { readonly do: "go"; readonly name: string }
  /** interrupts an earlier command, by its number */
  | { readonly do: "interrupt"; readonly which: number }
  /** sets the clock this many milliseconds ahead */
  | { readonly do: "clock"; readonly ahead: number }

const options: WorkerAgent.Options = JSON.parse(process.argv[2]!)

let ahead = 0
const { now } = Date
Date.now = () => now() + ahead

const tell = (what: object) => void process.stdout.write(`${JSON.stringify(what)}\n`)
const gates = new Map<string, Deferred.Deferred<void>>()
const gate = (name: string) => {
  const made = gates.get(name) ?? Deferred.makeUnsafe<void>()
  gates.set(name, made)
  return made
}

const perform = Effect.fnUntraced(function*(command: Exclude<Command, { readonly do: "interrupt" }>) {
  const agent = yield* WorkerAgent.Worker
  const store = yield* SessionStore.SessionStore
  switch (command.do) {
    case "run": {
      const { _tag, text } = yield* agent.run(command.input)
      return `${_tag}: ${text}`
    }
    case "start":
      return (yield* agent.start(command.input)).runId
    case "resume": {
      const { _tag, text } = yield* agent.resumeRun(command.input)
      return `${_tag}: ${text}`
    }
    case "decide":
      return yield* agent.decide(command.input)
    case "abort":
      return yield* agent.abort(command.sessionId)
    case "compact":
      return (yield* agent.compact(command.sessionId)).messages
    case "remove":
      return yield* store.remove(command.sessionId)
    case "approvals":
      return yield* agent.approvals(command.sessionId)
    case "steer": {
      const run = yield* agent.liveIn(command.sessionId)
      return run === undefined ? "not live" : yield* run.steer(command.text)
    }
    case "say":
      return yield* agent.steer(command.sessionId, command.text)
    case "fork":
      return yield* store.fork(command.sessionId, command)
    case "recover": {
      const { refused, runs } = yield* agent.recover(command.input)
      return { runs: runs.map(({ sessionId }) => sessionId), refused: refused.map(({ error }) => error.reason._tag) }
    }
    case "go":
      return void (yield* Deferred.succeed(gate(command.name), undefined))
    case "clock":
      ahead = command.ahead
      return
  }
})

const running = new Map<number, Fiber.Fiber<void>>()

const main = Effect.gen(function*() {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  tell({ at: "ready" })
  while (true) {
    const line = yield* Effect.promise(() => lines.next())
    if (line.done === true) return
    const { id, ...command }: Command & { readonly id: number } = JSON.parse(line.value)
    if (command.do === "interrupt") {
      const fiber = running.get(command.which)
      if (fiber !== undefined) yield* Fiber.interrupt(fiber)
      tell({ id, ok: null })
      continue
    }
    const fiber = yield* Effect.forkChild(
      Effect.matchCause(perform(command), {
        onSuccess: (ok) => tell({ id, ok: ok ?? null }),
        onFailure: (cause) => {
          const [reason] = cause.reasons
          const error = reason?._tag === "Fail" ? reason.error : undefined
          tell(
            error === undefined
              ? { id, broken: reason?._tag === "Die" ? String((reason.defect as Error).stack) : "interrupted" }
              : { id, error: error.reason._tag, message: error.message }
          )
        }
      })
    )
    running.set(id, fiber)
  }
})

const fiber = Effect.runFork(
  Effect.provide(main, WorkerAgent.layer(options, { tell, gate })).pipe(
    Effect.tapCause((cause) => Effect.sync(() => tell({ at: "dead", cause: String(cause) })))
  )
)
process.on("SIGTERM", () => {
  void Effect.runPromise(Fiber.interrupt(fiber)).then(() => process.exit(143))
})
