/** Whether contenders that are Effect programs and fiberloop's sources share one copy of effect. */
import { createRequire } from "node:module"
import { join } from "node:path"

/** Throws when a module in `bench` resolves another effect than one in `src`. */
export const check = (): void => {
  const of = (folder: string) =>
    createRequire(join(import.meta.dirname, "../..", folder, "index.js")).resolve("effect/Effect")
  const [ours, theirs] = [of("src"), of("bench/ours")]
  if (ours !== theirs) {
    throw new Error(`two copies of effect: ${ours} and ${theirs}. It must not be installed in bench.`)
  }
}
