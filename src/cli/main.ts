#!/usr/bin/env node
/** The `fiberloop` command. Owns the process: its arguments, its signals, its end. */
import { readFileSync } from "node:fs"
import * as Module from "node:module"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`fiberloop: Node 22.19 or newer is needed, this is ${process.version}\n`)
  process.exit(1)
}

// SQLite is experimental to Node. The first line cannot say so with a flag of Node: not every env, such as that of BusyBox, takes more.
for (const listener of process.listeners("warning")) {
  process.off("warning", listener)
  process.on("warning", (warning) => {
    if (warning.name !== "ExperimentalWarning") listener.call(process, warning)
  })
}

// Saves much of the cost of loading effect, from the second start on; harmless where the cache cannot be kept.
Module.enableCompileCache()

const { main } = await import("./Process.ts")
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}
main(process.argv.slice(2), version)
