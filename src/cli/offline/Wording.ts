/** The sentences that answers have in common. Pure. */
import type { Refused } from "./Files.ts"
import type { Where } from "./Intent.ts"

export { count } from "../../run/Quantity.ts"

/** A path as it is; quoted and escaped when it has characters that would not show. */
export const name = (path: string): string => /^\s|\s$|[\p{C}\u2028\u2029]/u.test(path) ? JSON.stringify(path) : path

/** " under src", nothing at the root. */
export const under = (folder: string | undefined): string => folder === undefined ? "" : ` under ${name(folder)}`

/** "*.ts file", "file". */
export const file = ({ pattern }: Pick<Where, "pattern">): string => pattern === undefined ? "file" : `${pattern} file`

/** Why there is no answer, in a sentence. */
export const refusal = ({ message, reason }: Refused, folder: string | undefined): string =>
  reason === "NotFound" && folder !== undefined
    ? `There is no folder ${JSON.stringify(folder)} below the root folder.`
    : message

/** A tool's note about its result, without the advice to narrow it. */
export const notes = (note: string | undefined): ReadonlyArray<string> =>
  note === undefined ? [] : note.split(/(?<=\.) /).filter((sentence) => !sentence.includes("narrow with"))

export const lines = (...parts: ReadonlyArray<string | ReadonlyArray<string>>): string =>
  parts.flat().filter((line) => line !== "").join("\n")
