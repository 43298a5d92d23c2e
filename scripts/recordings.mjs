/**
 * `npm run test:recordings`: the tests of recorded provider streams; with `-- --full`, each is cut at every offset. Other
 * arguments go to vitest. Does not own where the recordings are (`FIBERLOOP_RECORDINGS`).
 */
import { spawnSync } from "node:child_process"

const given = process.argv.slice(2)
const args = [
  "run",
  "--config",
  "test/recordings/vitest.config.ts",
  "--root",
  ".",
  ...given.filter((_) => _ !== "--full")
]
const { status } = spawnSync("vitest", args, {
  stdio: "inherit",
  shell: process.platform === "win32",
  env: { ...process.env, ...(given.includes("--full") ? { FIBERLOOP_RECORDINGS_FULL: "1" } : {}) }
})
process.exitCode = status ?? 1
