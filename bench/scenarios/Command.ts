/** The `fiberloop` command until it has printed its help, built and started before, compared with a Node that does nothing. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { median, type Sample } from "../harness/Statistics.ts"

const run = promisify(execFile)

const starts = 9

const programs = {
  "ms of --help": [join(import.meta.dirname, "../../dist/cli/main.js"), "--help"],
  "ms of node alone": ["-e", "0"]
}

const millisOf = async (args: ReadonlyArray<string>): Promise<number> => {
  const begun = performance.now()
  await run(process.execPath, args)
  return performance.now() - begun
}

export const measure = async (): Promise<Sample> => {
  const times = Object.entries(programs).map(([metric, args]) => ({ metric, args, millis: [] as Array<number> }))
  // compiled code is kept from the first start on
  for (const { args } of times) await millisOf(args)
  for (let i = 0; i < starts; i++) for (const { args, millis } of times) millis.push(await millisOf(args))
  return Object.fromEntries(times.map(({ metric, millis }) => [metric, median(millis)]))
}
