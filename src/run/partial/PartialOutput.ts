/** The type of an answer that is not whole yet. */
import type * as Schema from "effect/Schema"

/**
 * What may exist of JSON that becomes a `T`: anything may be missing from an object or a list, and a string, even one
 * of a few literals, may be cut. A value that JSON cannot express is whatever its schema writes instead.
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
