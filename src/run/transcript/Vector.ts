/**
 * A list that is only appended to, at constant cost, and whose older versions stay as they are: all versions share one
 * array, and each sees only its own length of it.
 */

export interface Vector<out A> {
  readonly items: ReadonlyArray<A>
  readonly length: number
}

export const empty: Vector<never> = { items: [], length: 0 }

export const make = <A>(items: Array<A>): Vector<A> => ({ items, length: items.length })

/** `self` with items appended. The second append to the same version pays for a copy. */
export const append = <A>(self: Vector<A>, ...added: ReadonlyArray<A>): Vector<A> => appendAll(self, added)

export const appendAll = <A>(self: Vector<A>, added: ReadonlyArray<A>): Vector<A> => {
  const isNewest = self.length > 0 && self.items.length === self.length
  const items = isNewest ? self.items as Array<A> : self.items.slice(0, self.length)
  for (let i = 0; i < added.length; i++) items.push(added[i]!)
  return { items, length: items.length }
}

export const toArray = <A>(self: Vector<A>): Array<A> => self.items.slice(0, self.length)

export const last = <A>(self: Vector<A>): A | undefined => self.items[self.length - 1]
