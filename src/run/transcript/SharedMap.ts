/**
 * A map that is only added to, at constant cost, and whose older versions stay as they are: all versions share one map,
 * and each sees only its own size of it.
 */

export interface SharedMap<in out K, out A> {
  readonly items: ReadonlyMap<K, Item<A>>
  readonly size: number
}

interface Item<out A> {
  readonly value: A
  /** how many were there before it */
  readonly at: number
}

export const empty = <K, A>(): SharedMap<K, A> => ({ items: new Map(), size: 0 })

export const get = <K, A>(self: SharedMap<K, A>, key: K): A | undefined => {
  const item = self.items.get(key)
  return item !== undefined && item.at < self.size ? item.value : undefined
}

/** `self` with a key that it does not have. The second addition to the same version pays for a copy. */
export const add = <K, A>({ items, size }: SharedMap<K, A>, key: K, value: A): SharedMap<K, A> => {
  const isNewest = items.size === size
  const next = isNewest ? items as Map<K, Item<A>> : new Map(Array.from(items).slice(0, size))
  next.set(key, { value, at: size })
  return { items: next, size: size + 1 }
}
