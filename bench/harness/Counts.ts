/** Whether a contender did all of the work: what a script makes, against what was counted. */
import { delta, type Script, type Tally } from "./Contender.ts"

type Counts = Pick<Tally, "calls" | "characters" | "deltas" | "remembered" | "requests" | "results">

/** What `runs` runs of a script make. */
export const expected = (script: Script, runs: number): Counts => {
  const answers = script.turns + 1
  return {
    requests: runs * answers,
    // the first request remembers none, each of the others those of one more answer
    remembered: runs * script.calls * (script.turns * answers) / 2,
    calls: runs * script.turns * script.calls,
    deltas: runs * answers * script.deltas,
    characters: runs * answers * script.deltas * delta.length,
    results: runs * script.turns * script.calls
  }
}

/** Throws, naming each count that is wrong. */
export const check = (contender: string, script: Script, runs: number, tally: Tally): void => {
  const wrong = Object.entries(expected(script, runs)).flatMap(([name, count]) => {
    const counted = tally[name as keyof Counts]
    return counted === count ? [] : [`${counted} ${name} in place of ${count}`]
  })
  if (wrong.length > 0) throw new Error(`${contender} did other work than the others: ${wrong.join(", ")}`)
}
