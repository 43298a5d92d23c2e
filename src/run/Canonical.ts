/**
 * JSON that is the same text for equal values: how inputs, arguments and results are compared and digested.
 *
 * Does not own shortened texts for comparison (`state/Fingerprint`).
 */

/** JSON with the keys of every object sorted: equal inputs give equal texts. Absent and `undefined` are the same. */
export const canonical = (value: unknown): string =>
  typeof value !== "object" || value === null || isSorted(value)
    ? JSON.stringify(value)
    : JSON.stringify(value, withSortedKeys)

/** Whether it can be written as it is. */
const isSorted = (node: object): boolean => {
  if (Array.isArray(node)) return node.every((item) => typeof item !== "object" || item === null || isSorted(item))
  let before = ""
  for (const key in node) {
    if (key < before) return false
    before = key
    const member: unknown = (node as Record<string, unknown>)[key]
    if (typeof member === "object" && member !== null && !isSorted(member)) return false
  }
  return true
}

const withSortedKeys = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
    : value
