/**
 * What the caller of a run sets, over what a layer sets for all calls.
 *
 * Does not own what may be set, nor what is merged in another way (headers, by `CallSettings`).
 */

export type Fields = Readonly<Record<string, unknown>>

/**
 * Objects become one, member by member, at every depth, as the AI SDK merges options of providers; of anything else, lists included,
 * the caller's counts. A member that the caller has as `undefined` takes the layer's away.
 */
export const fields = (layer: Fields, caller: Fields): Fields =>
  Object.fromEntries(
    Object.entries({ ...layer, ...caller }).map(([key, value]) => {
      const below = layer[key]
      return [key, isFields(value) && isFields(below) && value !== below ? fields(below, value) : value]
    })
  )

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
