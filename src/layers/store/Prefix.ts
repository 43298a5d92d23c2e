/** Ids by what they begin with, for stores that compare ids and for those that look them up in order. */

/** No id has NUL or half of a surrogate pair; a database might take either for another character. */
const isOfIds = (prefix: string): boolean => prefix.isWellFormed() && !prefix.includes("\0")

export const isOf = (prefix: string, id: string): boolean => isOfIds(prefix) && id.startsWith(prefix)

/** Ids from `from` on, and before `before` if there is one, in the order of their code points, which is that of their UTF-8. */
interface Range {
  readonly from: string
  readonly before: string | undefined
}

/** The ids that begin with it; `undefined` if none can. */
export const rangeOf = (prefix: string): Range | undefined =>
  isOfIds(prefix) ? { from: prefix, before: next(prefix) } : undefined

/** The first text after all that begin with this one. */
const next = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // surrogates are no characters
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}
