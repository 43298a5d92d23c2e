/**
 * Runs each measurement as a process of its own, `measure.ts`, with one folder for what all of them write. The folder is removed
 * when this process ends, also when somebody stops it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Sample } from "./Statistics.ts"

const bench = join(import.meta.dirname, "..")

/** minutes that a measurement may take */
const longest = 15

const args = [
  "--disable-warning=ExperimentalWarning",
  "--expose-gc",
  // a contender that keeps everything must not exhaust the machine
  "--max-old-space-size=4096",
  join(bench, "measure.ts")
]

/** seconds that a process which is told to end may take */
const patience = 5

/** Why a process died, in one line. */
export const reason = (stderr: string, ended: string | number | null): string =>
  /^(?:\w*Error\b|FATAL ERROR).*/m.exec(stderr)?.[0] ?? (stderr.trim().split("\n")[0] || `it ended with ${ended}`)

/** What a child prints on one of its streams. */
const collect = (stream: NodeJS.ReadableStream | null): () => string => {
  const chunks: Array<string> = []
  stream?.setEncoding("utf8")
  stream?.on("data", (chunk: string) => chunks.push(chunk))
  return () => chunks.join("")
}

/** Ends a child with its own children, such as a database: they are a group. */
const stop = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    // it has ended already
  }
}

const never = new Promise<never>(() => {})

export interface Measuring {
  /** Rejects with the reason why there is no sample. Never settles once everything was ended. */
  readonly measure: (contender: string, scenario: string) => Promise<Sample>
  /** Ends the process that is measuring now, and removes what all of them wrote. */
  readonly end: () => Promise<void>
}

export const make = (): Measuring => {
  const folder = mkdtempSync(join(tmpdir(), "fiberloop-bench-"))
  // a Postgres may run as another user
  chmodSync(folder, 0o755)
  let current: ChildProcess | undefined
  let isOver = false
  return {
    measure: async (contender, scenario) => {
      if (isOver) return never
      const child = spawn(process.execPath, [...args, contender, scenario], {
        detached: true,
        env: { ...process.env, TMPDIR: folder },
        stdio: ["ignore", "pipe", "pipe"]
      })
      current = child
      const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        stop(child, "SIGKILL")
      }, longest * 60_000)
      const [code, signal] = await once(child, "close").finally(() => {
        clearTimeout(timer)
        current = undefined
        // for a database that it did not get to stop
        stop(child, "SIGKILL")
      })
      if (isOver) return never
      if (isLate) throw new Error(`it took more than ${longest} minutes`)
      if (code !== 0) throw new Error(reason(stderr(), signal ?? code))
      const said = stdout()
      return JSON.parse(said.slice(said.lastIndexOf("{"))) as Sample
    },
    end: async () => {
      isOver = true
      if (current !== undefined) {
        const child = current
        const closed = once(child, "close")
        stop(child, "SIGTERM")
        const timer = setTimeout(() => stop(child, "SIGKILL"), patience * 1000)
        await closed
        clearTimeout(timer)
      }
      // a database may still be writing
      const options = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 } as const
      rmSync(folder, options)
      rmSync(join(bench, ".tmp"), options)
    }
  }
}
