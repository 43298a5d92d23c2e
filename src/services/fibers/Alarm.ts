/**
 * What happens once a time limit is over, unless it is called off before. All limits on one clock share one fiber that
 * sleeps, until the first of them is over; there is none while no limit is set and nothing holds it (`hold`).
 *
 * Does not own what a limit is of, nor what ends then; that is `Leavable`.
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
  /** where it is among those that are set; -1 once it is none of them */
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
      // nothing else of whoever is the first to wait
      const context = Context.make(Scheduler.Scheduler, fiber.cache.scheduler)
      this.#sleeper = outside(() => Effect.runForkWith(context)(this.#sleep))
    }
    return limit
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

  /** `false` where it is not set any more. The last one takes its place: none is looked for, however many there are. */
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
      // a sleep of next to nothing may end at once, and nothing rings before it is set
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
      // on a fiber of its own: what one throws keeps no other from ringing
      if (this.#remove(limit)) Effect.runFork(Effect.sync(limit.ring))
    }
    return this.#sleep
  }

  #now(): number {
    return Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6
  }
}

/**
 * Runs in no `AsyncLocalStorage` of the caller: what sleeps for all would keep what that holds, a request, for as long as
 * there is always somebody who waits.
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

/** Calls `ring` once so many milliseconds are over on the clock of a fiber, and never before it has returned. */
export const set = (fiber: Fiber.Fiber<unknown, unknown>, millis: number, ring: () => void): Armed | undefined =>
  millis === Infinity ? undefined : alarmOf(fiber).set(fiber, millis, ring)

/** A limit that is called off does not ring. */
export const callOff = (limit: Armed | undefined): void => limit?.alarm.callOff(limit)

/** What waits again and again: until the fiber that runs it ends, the one that sleeps is left asleep between two waits. */
export const hold = <A, E, R>(self: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const alarm = alarmOf(fiber)
    alarm.hold()
    fiber.addObserver(alarm.letGo)
    return self()
  })
