/** Services that behave as instances of classes do, whatever they are: a copy has no members, and a method needs its object. */

/** Has the members of `service` on its prototype, with methods that throw without it. */
export const only = <A extends object>(service: A): A => {
  const prototype = {}
  const bound: A = Object.create(prototype)
  for (const [key, value] of Object.entries(service)) {
    const method = function(this: unknown, ...args: ReadonlyArray<unknown>): unknown {
      if (this !== bound) throw new TypeError(`${key} was called without its object`)
      return Reflect.apply(value, service, args)
    }
    Object.defineProperty(prototype, key, { value: typeof value === "function" ? method : value })
  }
  return bound
}
