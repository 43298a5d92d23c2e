/**
 * One debug line for each step of a drive, headed by the id of its run: `run=r1 status=preparing`. Written only where debug lines
 * are read.
 *
 * Does not own what a line says of its step (`StepLine`).
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Fiber from "effect/Fiber"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import type * as Message from "../../run/Message.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunPolicy from "../../run/RunPolicy.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Model from "../../services/Model.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as Sink from "./Sink.ts"
import * as StepLine from "./StepLine.ts"

/** The minimum levels that let debug lines through. */
const verbose: ReadonlySet<LogLevel.LogLevel> = new Set(["All", "Trace", "Debug"])

type Write = (runId: string, line: string | undefined) => void

/** `undefined` where nobody reads debug lines. */
const writer = (fiber: Fiber.Fiber<unknown, unknown>, clock: Clock.Clock): Write | undefined => {
  if (!verbose.has(fiber.cache.minimumLogLevel)) return undefined
  const loggers = fiber.getRef(References.CurrentLoggers)
  if (loggers.size === 0) return undefined
  return (runId, line) => {
    if (line === undefined) return
    const date = new Date(clock.currentTimeMillisUnsafe())
    const message = [`run=${StepLine.word(runId)} ${line}`]
    for (const logger of loggers) logger.log({ message, logLevel: "Debug", cause: Cause.empty, fiber, date })
  }
}

/** `undefined` where nobody reads debug lines. */
export const make = (
  drive: Sink.Drive,
  before: RunState.RunState,
  model: Model.ModelInfo,
  fiber: Fiber.Fiber<unknown, unknown>,
  clock: Clock.Clock
): Sink.Sink | undefined => {
  const write = writer(fiber, clock)
  if (write === undefined) return undefined
  const position = new Position(drive, before, model, fiber.getRef(RetryPolicy.RetryPolicy))
  return {
    name: "logs",
    see: (events) => {
      for (const event of events) {
        position.follow(event)
        // a message may settle calls of the run before it
        write(RunEvent.isDurable(event) ? event.runId : drive.runId, StepLine.of(event, position))
      }
    },
    close: (_, lost) => write(drive.runId, lost === undefined ? undefined : StepLine.ofLost(lost))
  }
}

/** A line for each step that is appended while no drive has the session, headed by the id of the step's run. */
export const besideDrives = (
  drive: StepLine.Position["drive"],
  fiber: Fiber.Fiber<unknown, unknown>,
  clock: Clock.Clock
): Sink.See | undefined => {
  const write = writer(fiber, clock)
  const position = { drive, turn: undefined, attempt: "", isAnswered: false }
  return write && ((events) => {
    for (const event of events) if (RunEvent.isDurable(event)) write(event.runId, StepLine.of(event, position))
  })
}

/** Follows a drive by its events. */
class Position implements StepLine.Position {
  readonly drive: Sink.Drive
  readonly #before: Pick<RunState.RunState, "turn">
  readonly #policy: RetryPolicy.RetryPolicy
  #maxRetries: number | undefined
  #limits: RunPolicy.Limits
  #turn = 0
  /** counts the model's tries in a row: a fallback starts again at 1, and so does a turn that begins again with a smaller context */
  #attempt = 1
  isAnswered = false

  constructor(
    drive: Sink.Drive,
    before: RunState.RunState,
    model: Model.ModelInfo,
    policy: RetryPolicy.RetryPolicy
  ) {
    this.drive = drive
    this.#policy = policy
    this.#before = before
    this.#limits = before.limits
    this.#ask(model)
  }

  get turn(): string | undefined {
    return this.#turn === 0 ? undefined : outOf(this.#turn, this.#limits.maxTurns)
  }

  get attempt(): string {
    return outOf(this.#attempt, this.#maxRetries === undefined ? undefined : this.#maxRetries + 1)
  }

  #ask(model: Message.ModelRef): void {
    this.#maxRetries = RetryPolicy.of(this.#policy, model).maxRetries
  }

  follow(event: RunEvent.RunEvent): void {
    switch (event._tag) {
      case "RunStarted":
        this.#limits = event.input.limits
        break
      case "RunResumed":
        this.#limits = event.limits ?? this.#limits
        this.#turn = this.#before.turn
        break
      case "TurnStarted":
        this.#turn = event.turn
        this.#attempt = 1
        this.isAnswered = false
        // a fallback may have taken over in an earlier drive
        this.#ask(event.model)
        break
      case "AttemptDiscarded":
        this.#attempt++
        break
      case "AssistantMessage":
        this.isAnswered = true
        break
      case "ModelSwitched":
        this.#attempt = 1
        this.#ask(event.to)
        break
      default:
        break
    }
  }
}

const outOf = (n: number, limit: number | undefined): string =>
  limit === undefined || limit === Infinity ? `${n}` : `${n}/${limit}`
