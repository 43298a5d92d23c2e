/** Owns how a change of a text is written: as a unified diff, over `effect/TextDiff`. Pure. */
import * as TextDiff from "effect/TextDiff"

/** Bounds the search: the diff of texts with little in common is correct, but may be longer than necessary. */
const maxEdits = 500

/** The diff, without names; empty when the texts are equal. */
export const make = (before: string, after: string): string =>
  TextDiff.unified(TextDiff.lines(before, after, { maxEdits }))
