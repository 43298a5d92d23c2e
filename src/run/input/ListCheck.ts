/** Whether what a list of sessions is asked for is what stores take. Pure. */
import * as Result from "effect/Result"
import { type Checked, isObject, notGiven, options, refuse } from "./Checked.ts"

/** Which sessions are listed, by what stores take for it: what is misspelt, or of another kind, would list those of everybody. */
export const listed = (given: Listed): Checked<unknown> => {
  const { ends, parents, prefix = "" }: Listed = given ?? {}
  const lists = Object.entries({ ends, parents }).map(([field, list]) =>
    list === undefined || Array.isArray(list) ? notGiven : refuse(field, `${field} must be a list`)
  )
  const isText = typeof prefix === "string"
  return Result.all([
    // a stream has no use for the size of a page
    options("a list of sessions", isObject(given) ? { ...given, limit: undefined } as Listed : given, listNames),
    isText ? notGiven : refuse("prefix", "prefix must be a text"),
    ...lists
  ])
}

type Listed = { readonly [K in keyof typeof listNames]?: unknown }

const listNames = { after: true, ends: true, parents: true, prefix: true, unowned: true } as const
