/** Owns how a change of a text is written down: as a unified diff, over `effect/TextDiff`. Pure. */
import * as TextDiff from "effect/TextDiff"

/** Bounds the search: a diff of texts that have little in common is correct but may be longer than it had to be. */
const maxEdits = 500

/** The diff, without names; empty when the texts are equal. */
export const make = (before: string, after: string): string =>
  TextDiff.unified(TextDiff.lines(before, after, { maxEdits }))
