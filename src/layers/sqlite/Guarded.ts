/**
 * What a transaction with a guard runs, without the types of Node, which the declarations of the client do not need.
 *
 * Does not own how it runs (`SqliteStatements`).
 */
import type * as Arr from "effect/Array"

type Value = null | number | bigint | string | Uint8Array

/** Statements of one transaction; the first is a guard, which lets the others run when it returns or changes a row. */
export type Guarded = Arr.NonEmptyReadonlyArray<readonly [text: string, values: ReadonlyArray<Value>]>
