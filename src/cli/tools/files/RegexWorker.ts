/**
 * Owns the work of the thread: it answers each list of lines with those that match its expression, after a first empty answer
 * when it is ready.
 * Does not own how long that may take: `BoundedRegex.ts` starts and ends the thread.
 */
import { parentPort, workerData } from "node:worker_threads"

/** The indices of the lines that match, each with the start of its first match. */
export type Answer = ReadonlyArray<readonly [index: number, at: number]>

const regex = workerData as RegExp

const answer = (lines: ReadonlyArray<string>): Answer => {
  const matches: Array<readonly [number, number]> = []
  for (const [index, line] of lines.entries()) {
    const at = line.search(regex)
    if (at !== -1) matches.push([index, at])
  }
  return matches
}

parentPort?.on("message", (lines: ReadonlyArray<string>) => parentPort?.postMessage(answer(lines)))
parentPort?.postMessage(answer([]))
