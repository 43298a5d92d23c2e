/**
 * Arbitrary logs, as sessions leave them. A session is played from a list of numbers, one for each move, so that a failing
 * log shrinks by leaving moves out.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import { dice } from "./Odd.ts"
import { Player } from "./Player.ts"

export type Log = ReadonlyArray<RunEvent.Durable>

export interface Session {
  readonly log: Log
  /** for each event, what its run has used up by then; `duration` only counts at ends */
  readonly totals: ReadonlyArray<RunEvent.Totals>
}

/** Equal arguments play equal sessions. */
export const play = (moves: ReadonlyArray<number>, oddness: number): Session => {
  const player = new Player(oddness)
  for (const move of moves) player.move(move)
  return { log: player.log, totals: player.counted }
}

const move = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 })))

const sessions = (oddness: number) =>
  Arbitrary.map(Arbitrary.array(move, { minLength: 1, maxLength: 60 }), (moves) => play(moves, oddness))

/** Sessions in which nothing went wrong. */
export const tidy: Arbitrary.Arbitrary<Session> = sessions(0)

/** Sessions with anything in them. */
export const odd: Arbitrary.Arbitrary<Session> = sessions(0.3)

/** A log without some of its events, in order. */
export const subsequence = (log: Log, seed: number): Log => {
  const die = dice(seed)
  const kept = 0.3 + 0.65 * (die.int(100) / 100)
  return log.filter(() => die.chance(kept))
}

export const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
