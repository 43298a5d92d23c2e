/** Values that throw whatever is asked of them, as code of others may throw, fail with or return. */

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const traps = new Proxy({}, {
  get: () => () => {
    throw new Error("trapped")
  }
})

/** By name: a test runner cannot print the values. */
export const unreadable: Record<string, () => never> = {
  "a revoked proxy": () => revoked() as never,
  "a proxy whose traps throw": () => new Proxy({}, traps) as never
}
