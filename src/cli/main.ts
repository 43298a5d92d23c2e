#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
/** The `fiberloop` command. Owns the process: its arguments, its signals, its end. */
import { readFileSync } from "node:fs"
import { enableCompileCache } from "node:module"

// Halves what loading effect costs from the second start on; where it cannot be kept, nothing is lost.
enableCompileCache()

const { main } = await import("./Process.ts")
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}
main(process.argv.slice(2), version)
