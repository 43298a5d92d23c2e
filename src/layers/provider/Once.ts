/** Values that are made once for each object, and kept as long as that is. Does not own what they are. */

/** `make`, called once for each key: for what takes long to make, such as the JSON Schema of a tool. */
export const each = <K extends object, A extends {}>(make: (key: K) => A): (key: K) => A => {
  const made = new WeakMap<K, A>()
  return (key) => {
    let value = made.get(key)
    if (value === undefined) made.set(key, value = make(key))
    return value
  }
}
