/**
 * Checks that a contender did all of the work: what a script should do is compared with the counts of each run. What a
 * conversation remembers, and what a tool refuses, is checked once in each process, outside the timed part.
 */
import { type Contender, delta, makeTally, numbers, type Script, type Tally } from "./Contender.ts"

type Counts = Pick<Tally, "calls" | "characters" | "deltas" | "remembered" | "requests" | "results" | "sum">

/** The counts of `runs` runs of a script. */
const expected = (script: Script, runs: number): Counts => {
  const answers = script.turns + 1
  const calls = script.turns * script.calls
  return {
    requests: runs * answers,
    // the first request remembers none, each later one also those of one more answer
    remembered: runs * script.calls * (script.turns * answers) / 2,
    calls: runs * calls,
    sum: runs * (calls * (calls - 1)) / 2,
    deltas: runs * answers * script.deltas,
    characters: runs * answers * script.deltas * delta.length,
    results: runs * calls
  }
}

/** Throws, naming each count that is wrong. */
export const check = (contender: string, script: Script, runs: number, tally: Tally): void => {
  const wrong = Object.entries(expected(script, runs)).flatMap(([name, count]) => {
    const counted = tally[name as keyof Counts]
    return counted === count ? [] : [`${counted} ${name} in place of ${count}`]
  })
  // fewer at once is no less work
  if (tally.widest > script.parallel) wrong.push(`${tally.widest} calls at once in place of ${script.parallel}`)
  if (wrong.length > 0) throw new Error(`${contender} did other work than the others: ${wrong.join(", ")}`)
}

/** How often `part` is in `text`. */
const times = (text: string, part: string): number => text.split(part).length - 1

/** Throws when the conversation of a run's last request, as JSON, lacks what was said before it, or a call's result. */
export const checkConversation = (
  { mergesTexts, name }: Pick<Contender, "mergesTexts" | "name">,
  script: Script,
  conversation: string
): void => {
  // results are JSON in a text, or nested in another text
  const said = conversation.replaceAll("\\", "")
  const texts = times(said, `"${delta.repeat(script.deltas)}"`)
  const wanted = mergesTexts ? 1 : script.turns
  if (texts !== wanted) throw new Error(`${name} remembers ${texts} joined texts in place of ${wanted}`)
  for (let rounds = 0; rounds < script.turns; rounds++) {
    for (const n of numbers(script, rounds)) {
      if (!new RegExp(`"doubled":${n * 2}[^0-9]`).test(said)) {
        throw new Error(`${name} does not remember that ${n} was doubled`)
      }
    }
  }
}

/** Throws when a handler ran with arguments that its tool does not take; how the run ends is up to the contender. */
const checkRefusal = (contender: string, tally: Tally): void => {
  if (tally.requests === 0) throw new Error(`${contender} asked no model for a call with wrong arguments`)
  if (tally.calls > 0) throw new Error(`${contender} ran a tool with arguments that are none`)
}

/** Runs a contender on a small version of a script: checks counts, what its last request remembers, and a call to be refused. */
export const prove = async (contender: Contender, script: Script): Promise<void> => {
  const { name, onlyWrites, open } = contender
  if (onlyWrites) return
  const small: Script = { ...script, turns: Math.min(3, Math.max(1, script.turns)), latency: 0, hang: "no" }
  const play = async (script: Script, tally: Tally) => {
    const runner = await open(script, tally)
    await runner.run().finally(() => runner.close?.())
  }
  const tally = makeTally()
  let last = ""
  tally.onRequest = (conversation) => {
    last = JSON.stringify(conversation)
  }
  await play(small, tally)
  check(name, small, 1, tally)
  checkConversation(contender, small, last)
  const refused = makeTally()
  await play({ ...small, turns: 1, calls: 1, isWrong: true }, refused).catch(() => {})
  checkRefusal(name, refused)
}
