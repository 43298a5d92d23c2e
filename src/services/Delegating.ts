/**
 * A service with some of its members replaced. Services and sessions may be instances of classes: a spread of one has neither what
 * its prototype has nor its private fields, and a member called by itself has lost them too.
 */

/**
 * Has the members of `own`, and all others of `self`, of its class too: each is looked up in `self` when it is asked for, and called
 * on it. What `self` calls on itself is not replaced. May be spread, and its members may be called by themselves.
 */
export const to = <Self extends object>(self: Self, own: Partial<Self>): Self => {
  const made = {}
  for (const key of keysOf(self)) {
    Object.defineProperty(made, key, { configurable: true, enumerable: true, get: () => member(self, key) })
  }
  return Object.defineProperties(made, Object.getOwnPropertyDescriptors(own)) as Self
}

const keysOf = (self: object): ReadonlySet<string | symbol> => {
  const keys = new Set<string | symbol>()
  for (let of: object | null = self; of !== null && of !== Object.prototype; of = Object.getPrototypeOf(of)) {
    for (const key of Reflect.ownKeys(of)) keys.add(key)
  }
  keys.delete("constructor")
  return keys
}

const member = (self: object, key: string | symbol): unknown => {
  const value: unknown = Reflect.get(self, key)
  return typeof value === "function" ? value.bind(self) : value
}
