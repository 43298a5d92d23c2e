/** What this process holds, in bytes, after garbage collection. */
export const heap = (): number => {
  if (globalThis.gc === undefined) throw new Error("what is held is measured with --expose-gc")
  globalThis.gc()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}
