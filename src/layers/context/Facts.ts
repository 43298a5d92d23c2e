/**
 * What matters in a conversation as lists of short facts, and how a model's additions are merged into them: no fact is lost
 * because a model does not repeat it. Pure.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as MessageText from "./MessageText.ts"

const list = Schema.Array(Schema.String)

/** Oldest first. */
export const Facts = Schema.Struct({
  intent: list.annotate({ description: "what the user wants, and asked not to do" }),
  decisions: list.annotate({ description: "what was decided, and why" }),
  results: list.annotate({ description: "what was done and found, with its numbers" }),
  files: list.annotate({ description: "files, addresses, names and ids that matter, exactly" }),
  openPoints: list.annotate({ description: "what is still to be done or answered" })
})
export type Facts = typeof Facts.Type

/** What a model adds; a point that it closes is quoted as it was. */
export const Added = Schema.Struct({
  ...Facts.fields,
  closedPoints: list.annotate({ description: "points of the list of open ones that are settled now, word for word" })
})

export const none: Facts = { intent: [], decisions: [], results: [], files: [], openPoints: [] }

const names = ["intent", "decisions", "results", "files", "openPoints"] as const

export const decode = Schema.decodeUnknownOption(Facts)

/** A model's answer, where it is JSON with at least one of the lists of facts; lists that it omits are empty. */
export const parse = (answer: string): Option.Option<typeof Added.Type> => {
  try {
    // a text that begins with a brace can only parse to an object; without both braces it is not JSON
    const given: object = JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1))
    if (!lists.some((name) => Object.hasOwn(given, name))) return Option.none()
    return decodeAdded({ ...none, closedPoints: [], ...given })
  } catch {
    return Option.none()
  }
}

const lists = Object.keys(Added.fields)

const decodeAdded = Schema.decodeUnknownOption(Added)

/** Whether an answer adds no fact at all; what it closes is none. */
export const addsNothing = (added: typeof Added.Type): boolean => render(merge(none, added)) === ""

/** Facts from a memory that is not in this form: one for each line, or for each sentence where a line is long. */
export const fromText = (text: string): Facts => ({
  ...none,
  results: text.split(/[\n\r\u2028\u2029]+/).flatMap((line) =>
    line.length > longestLine ? line.split(sentenceEnd) : [line]
  )
    .map((line) => line.replace(/^\s*[-*]\s+/, "").trim())
    .filter((line) => line !== "")
})

/** A line of at most this many characters is one fact. */
const longestLine = 400

const sentenceEnd = /(?<=[.!?])\s+|(?<=[。！？])/

/** Both together, each fact once, in the words that were used first; without the points that were closed. */
export const merge = (before: Facts, added: typeof Added.Type): Facts => {
  const closed = new Set(added.closedPoints.map(sameness))
  const of = (name: typeof names[number]) => unique([...before[name], ...added[name]])
  return {
    intent: of("intent"),
    decisions: of("decisions"),
    results: of("results"),
    files: of("files"),
    openPoints: of("openPoints").filter((point) => !closed.has(sameness(point)))
  }
}

const unique = (facts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const seen = new Set<string>()
  return facts.map((fact) => fact.trim()).filter((fact) => {
    const key = sameness(fact)
    if (key === "" || seen.has(key)) return false
    seen.add(key)
    return true
  })
}

const sameness = (fact: string): string => {
  const words = fact.toLowerCase().replace(/\s+/g, " ").trim()
  let end = words.length
  while (end > 0 && ".;, ".includes(words[end - 1]!)) end--
  return words.slice(0, end)
}

/** Tokens that a single fact may take. */
const longestFact = 200

/** At most `budget` tokens as text: long facts are cut, then the oldest go, results first; the first intent always stays. */
export const within = (facts: Facts, budget: number, count: (text: string) => number): Facts => {
  const cut = (fact: string) => MessageText.fit(fact, Math.min(longestFact, budget / 2), count)
  const fitted = Object.fromEntries(
    names.map((name) => [name, facts[name].map(cut)])
  ) as unknown as { [K in keyof Facts]: Array<string> }
  for (const name of ["results", "decisions", "files", "openPoints", "intent"] as const) {
    const least = name === "intent" ? 1 : 0
    while (fitted[name].length > least && count(render(fitted)) > budget) {
      // the first intent is what the conversation is about
      fitted[name].splice(least, Math.max(1, Math.floor((fitted[name].length - least) / 4)))
    }
  }
  return fitted
}

const headings: { readonly [K in keyof Facts]: string } = {
  intent: "What the user wants",
  decisions: "Decisions",
  results: "Done and found",
  files: "Files, names and ids",
  openPoints: "Still open"
}

/** Indents a fact of several lines, so that none of its lines looks like another fact or a heading. */
export const render = (facts: Facts): string =>
  names.filter((name) => facts[name].length > 0)
    .map((name) =>
      `${headings[name]}:\n${facts[name].map((fact) => `- ${MessageText.indented(fact).trimStart()}`).join("\n")}`
    )
    .join("\n\n")
