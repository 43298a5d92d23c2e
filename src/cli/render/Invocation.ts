/** A fiberloop command, as it is shown for a person to type. Pure. */
import * as ShellWord from "./ShellWord.ts"

/** A command to type: `fiberloop run --session 0199... --db sessions.db` */
export const of = (name: string, words: ReadonlyArray<string>, flags: ReadonlyArray<string>): string =>
  ["fiberloop", name, ...[...words, ...flags].map(ShellWord.of)].join(" ")

/** Those flags of a run that say where its session is kept. */
export const placeOf = (flags: ReadonlyArray<string>): ReadonlyArray<string> => {
  const at = flags.indexOf("--db")
  return at < 0 ? [] : flags.slice(at, at + 2)
}
