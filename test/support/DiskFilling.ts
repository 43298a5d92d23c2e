/** How a database's disk becomes full under the process that has it open, and has room again. */
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { appendFileSync, rmSync, statSync } from "node:fs"

/** `tmpfs`: nothing is left of the file system, see `FullDisk`. `limit`: no file of this process may grow. */
export type How = "tmpfs" | "limit"

/** Fills the disk of a database; the returned effect makes room. */
export const fill = (how: How, file: string): Effect.Effect<Effect.Effect<void>> =>
  Effect.sync(() => {
    if (how === "limit") {
      limit(`${statSync(`${file}-wal`).size}`)
      return Effect.sync(() => limit("unlimited"))
    }
    const filler = `${file}-filler`
    // down to the last byte
    for (let bytes = 65_536; bytes >= 1; bytes /= 2) {
      try {
        while (true) appendFileSync(filler, Buffer.alloc(bytes))
      } catch {
        // less may still find room
      }
    }
    return Effect.sync(() => rmSync(filler))
  })

const limit = (size: string) => execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${size}:`])
