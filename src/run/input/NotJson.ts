/** Where in a value JSON ends, in words for whoever passed it. Does not own what is done about it (`Checked`). */

/** Why a value that `JSON.stringify` refuses is not JSON, such as `data.user.id is a bigint, ...`. */
export const reasonOf = (field: string, value: unknown): string => {
  if (typeof value === "function" || typeof value === "symbol") {
    return `${field} is a ${typeof value}, which is not JSON`
  }
  /** by object that was visited */
  const places = new Map<unknown, string>()
  let reason: string | undefined
  try {
    // it visits a value, and then throws because of it
    JSON.stringify(value, function(this: unknown, key: string, item: unknown) {
      const place = `${places.get(this) ?? field}${places.has(this) ? step(this, key) : ""}`
      reason = typeof item === "bigint"
        ? `${place} is a bigint, which JSON does not have; give it as a number or a text`
        : isWithin(places.get(item), place)
        ? `${place} leads back to what it is in, which JSON cannot say; leave it out`
        : undefined
      if (typeof item === "object" && item !== null) places.set(item, place)
      return item
    })
  } catch {
    return reason ?? `${field} is not JSON`
  }
  return `${field} is not JSON`
}

const step = (holder: unknown, key: string): string => Array.isArray(holder) ? `[${key}]` : member(key)

/** How a member of an object is named behind it. */
export const member = (key: string): string =>
  /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`

/** The same object may also be in two places next to each other. */
const isWithin = (outer: string | undefined, place: string): boolean =>
  outer !== undefined && place.startsWith(outer) && /^[.[]/.test(place.slice(outer.length))
