/**
 * A measurement as a process of its own, `measure.ts`, with one folder for what all of them write: it is gone when this process
 * ends, also where somebody stops it.
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
  // one that keeps everything is not to take the machine along
  "--max-old-space-size=4096",
  join(bench, "measure.ts")
]

/** The error that a process died of, in one line. */
export const reason = (stderr: string): string =>
  /^\w*Error\b.*/m.exec(stderr)?.[0] ?? stderr.trim().split("\n")[0] ?? ""

/** What a child prints on one of its streams. */
const collect = (stream: NodeJS.ReadableStream | null): () => string => {
  const chunks: Array<string> = []
  stream?.setEncoding("utf8")
  stream?.on("data", (chunk: string) => chunks.push(chunk))
  return () => chunks.join("")
}

/** With its own children, such as a database: they are a group. */
const stop = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    // it has ended
  }
}

const never = new Promise<never>(() => {})

export interface Measuring {
  /** Rejects with why there is no sample. Never comes back once all has been ended. */
  readonly measure: (contender: string, scenario: string) => Promise<Sample>
  /** Ends the process that measures now, and takes away what all of them wrote. */
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
      const [code] = await once(child, "close")
      clearTimeout(timer)
      current = undefined
      if (isOver) return never
      if (isLate) throw new Error(`it took more than ${longest} minutes`)
      if (code !== 0) throw new Error(reason(stderr()))
      const said = stdout()
      return JSON.parse(said.slice(said.lastIndexOf("{"))) as Sample
    },
    end: async () => {
      isOver = true
      if (current !== undefined) {
        const closed = once(current, "close")
        stop(current, "SIGTERM")
        await closed
      }
      rmSync(folder, { recursive: true, force: true })
      rmSync(join(bench, ".tmp"), { recursive: true, force: true })
    }
  }
}
