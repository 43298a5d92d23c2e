/**
 * What happens once a time limit is over, unless it is called off before. All limits on one clock share one fiber that
 * sleeps, until the first of them is over; there is none while nobody waits.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

interface Limit {
  /** milliseconds on the clock's monotonic time */
  readonly endsAt: number
  readonly ring: () => void
}

class Alarm {
  readonly #clock: Clock.Clock
  readonly #limits = new Set<Limit>()
  #sleeper: Fiber.Fiber<void> | undefined
  /** -Infinity while limits ring: who sets another one then need not wake anybody */
  #wakesAt = Infinity

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  set(scheduler: Scheduler.Scheduler, millis: number, ring: () => void): () => void {
    const limit: Limit = { endsAt: this.#now() + millis, ring }
    this.#limits.add(limit)
    if (limit.endsAt < this.#wakesAt) {
      this.#sleeper?.interruptUnsafe()
      this.#sleeper = Effect.runForkWith(Context.make(Scheduler.Scheduler, scheduler))(this.#sleep)
    }
    return () => this.#callOff(limit)
  }

  #callOff(limit: Limit): void {
    if (!this.#limits.delete(limit) || this.#limits.size > 0 || this.#wakesAt === -Infinity) return
    this.#sleeper?.interruptUnsafe()
    this.#sleeper = undefined
    this.#wakesAt = Infinity
  }

  readonly #sleep: Effect.Effect<void> = Effect.suspend(() => {
    this.#wakesAt = Infinity
    for (const { endsAt } of this.#limits) this.#wakesAt = Math.min(this.#wakesAt, endsAt)
    if (this.#wakesAt < Infinity) {
      const left = Duration.millis(this.#wakesAt - this.#now())
      return Effect.flatMap(this.#clock.sleep(left), () => this.#ring())
    }
    this.#sleeper = undefined
    return Effect.void
  })

  #ring(): Effect.Effect<void> {
    // a sleep may end a little early
    const now = Math.max(this.#wakesAt, this.#now())
    this.#wakesAt = -Infinity
    for (const limit of Array.from(this.#limits)) if (limit.endsAt <= now && this.#limits.delete(limit)) limit.ring()
    return this.#sleep
  }

  #now(): number {
    return Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6
  }
}

const alarms = new WeakMap<Clock.Clock, Alarm>()

/**
 * Calls `ring` once so many milliseconds are over on the clock of a context, and never before it has returned; gives what calls
 * it off.
 */
export const set = (context: Context.Context<never>, millis: number, ring: () => void): () => void => {
  if (millis === Infinity) return () => {}
  const clock = Context.get(context, Clock.Clock)
  const alarm = alarms.get(clock) ?? new Alarm(clock)
  alarms.set(clock, alarm)
  return alarm.set(Context.get(context, Scheduler.Scheduler), millis, ring)
}
