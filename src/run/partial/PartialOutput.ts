/** The type of an answer that is not whole yet. */
import type * as Schema from "effect/Schema"

/**
 * What there may be of JSON that becomes a `T`: anything may be missing from an object or a list, and a string, also
 * one of a few literals, may be cut. What JSON has no word for is whatever its schema writes in its place.
 */
export type PartialOutput<T> = [Schema.Json] extends [T] ? Schema.Json
  : T extends string ? string
  : T extends number | boolean | null ? T
  : T extends undefined ? null
  : T extends ReadonlyArray<infer Item> ? number extends T["length"] ? ReadonlyArray<PartialOutput<Item>>
    : { readonly [Key in keyof T]?: PartialOutput<Required<T>[Key]> }
  : T extends object
    ? [Extract<T[keyof T], (...args: never) => unknown>] extends [never]
      ? { readonly [Key in keyof T]?: PartialOutput<Required<T>[Key]> }
    : Schema.Json
  : Schema.Json
