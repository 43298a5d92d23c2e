/**
 * What happens once a time limit is over, unless it is called off first. All limits on one clock share one fiber, which
 * sleeps until the first of them is over; there is none while no limit is set and nothing holds it (`hold`).
 *
 * Does not own what a limit applies to, nor what ends then; that is `Leavable`.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

/** A limit that was set. */
export interface Armed {
  readonly alarm: Alarm
  /** milliseconds on the clock's monotonic time */
  readonly endsAt: number
  readonly ring: () => void
  /** how many were set before */
  readonly number: number
  /** its index among those that are set; -1 once it is not one of them */
  place: number
}

class Alarm {
  readonly #clock: Clock.Clock
  /** in no order */
  readonly #limits: Array<Armed> = []
  #count = 0
  #sleeper: Fiber.Fiber<void> | undefined
  #wakesAt = Infinity
  #holders = 0
  #context: Context.Context<never> | undefined

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  set(fiber: Fiber.Fiber<unknown, unknown>, millis: number, ring: () => void): Armed {
    const limit: Armed = {
      alarm: this,
      endsAt: this.#now() + millis,
      ring,
      number: this.#count++,
      place: this.#limits.length
    }
    this.#limits.push(limit)
    if (limit.endsAt < this.#wakesAt) {
      this.#sleeper?.interruptUnsafe()
      this.#sleeper = outside(() => Effect.runForkWith(this.#contextOf(fiber))(this.#sleep))
    }
    return limit
  }

  /** Nothing of the fiber that happens to wait first but its scheduler, which is the same for nearly all. */
  #contextOf({ cache: { scheduler } }: Fiber.Fiber<unknown, unknown>): Context.Context<never> {
    if (this.#context === undefined || Context.get(this.#context, Scheduler.Scheduler) !== scheduler) {
      this.#context = Context.make(Scheduler.Scheduler, scheduler)
    }
    return this.#context
  }

  callOff(limit: Armed): void {
    if (this.#remove(limit)) this.#rest()
  }

  hold(): void {
    this.#holders++
  }

  readonly letGo = (): void => {
    this.#holders--
    this.#rest()
  }

  /** `false` if it is not set any more. The last limit takes its place, so no search is needed, however many there are. */
  #remove(limit: Armed): boolean {
    const { place } = limit
    if (place < 0) return false
    const last = this.#limits.pop()!
    if (last !== limit) {
      this.#limits[place] = last
      last.place = place
    }
    limit.place = -1
    return true
  }

  #rest(): void {
    if (this.#limits.length > 0 || this.#holders > 0) return
    this.#sleeper?.interruptUnsafe()
    this.#sleeper = undefined
    this.#wakesAt = Infinity
  }

  readonly #sleep: Effect.Effect<void> = Effect.suspend(() => {
    this.#wakesAt = Infinity
    for (const { endsAt } of this.#limits) this.#wakesAt = Math.min(this.#wakesAt, endsAt)
    if (this.#wakesAt < Infinity) {
      const left = this.#wakesAt - this.#now()
      const asleep = this.#clock.sleep(Duration.millis(left))
      // a very short sleep may end at once, and nothing may ring before `set` has returned
      return Effect.flatMap(left < 1 ? Effect.andThen(Effect.yieldNow, asleep) : asleep, () => this.#ring())
    }
    this.#sleeper = undefined
    return Effect.void
  })

  #ring(): Effect.Effect<void> {
    // a sleep may end a little early
    const now = Math.max(this.#wakesAt, this.#now())
    const due = this.#limits.filter(({ endsAt }) => endsAt <= now)
    for (const limit of due.sort((a, b) => a.number - b.number)) {
      // on a fiber of its own: one that throws keeps no other from ringing
      if (this.#remove(limit)) Effect.runFork(Effect.sync(limit.ring))
    }
    return this.#sleep
  }

  #now(): number {
    return Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6
  }
}

/**
 * Runs outside any `AsyncLocalStorage` of the caller: the fiber that sleeps for all would otherwise keep what that holds,
 * such as a request, for as long as anybody waits.
 */
const outside: <A>(f: () => A) => A =
  globalThis.process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage.snapshot?.() ?? ((f) => f())

const alarms = new WeakMap<Clock.Clock, Alarm>()

const alarmOf = (fiber: Fiber.Fiber<unknown, unknown>): Alarm => {
  const clock = fiber.getRef(Clock.Clock)
  let alarm = alarms.get(clock)
  if (alarm === undefined) alarms.set(clock, alarm = new Alarm(clock))
  return alarm
}

/** Calls `ring` once that many milliseconds have passed on the clock of the fiber, and never before `set` has returned. */
export const set = (fiber: Fiber.Fiber<unknown, unknown>, millis: number, ring: () => void): Armed | undefined =>
  millis === Infinity ? undefined : alarmOf(fiber).set(fiber, millis, ring)

/** A limit that is called off does not ring. */
export const callOff = (limit: Armed | undefined): void => limit?.alarm.callOff(limit)

/** For work that waits again and again: until the fiber that runs it ends, the sleeping fiber stays asleep between two waits. */
export const hold = <A, E, R>(self: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const alarm = alarmOf(fiber)
    alarm.hold()
    fiber.addObserver(alarm.letGo)
    return self()
  })
