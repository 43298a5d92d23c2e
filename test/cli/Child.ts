/** The command, bundled as users have it, in its own process and folder, killed with its scope. */
import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import * as CommandBundle from "../../scripts/CommandBundle.ts"

const installed = inject("installed")
const folder = mkdtempSync(join(installed, "dist/cli-"))
await CommandBundle.write(folder)

/** The entry of the command. */
export const main = join(folder, "main.js")

export interface Ended {
  /** the exit code, or the signal that ended it */
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

export interface Child {
  readonly process: ChildProcess
  readonly ended: Effect.Effect<Ended>
  /** Awaits the end of the process, even if its output was not read. */
  readonly exited: Effect.Effect<void>
  /** Awaits a text on standard output or error, or the end. */
  readonly says: (text: string) => Effect.Effect<void>
}

export interface Options {
  readonly cwd: string
  readonly env?: Record<string, string>
  readonly spawn?: SpawnOptions
}

/** The environment of a shell that knows no provider and none of our settings. Compiled files go with the run. */
export const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      !/^(OPENAI_|ANTHROPIC_|GOOGLE_|FIBERLOOP_|NO_COLOR$|FORCE_COLOR$|VITEST|NODE_)/i.test(name)
    )
  ),
  NODE_COMPILE_CACHE: join(installed, "cache")
}

export const start = (args: ReadonlyArray<string>, options: Options): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [main, ...args], {
          cwd: options.cwd,
          env: { ...environment, ...options.env },
          stdio: ["ignore", "pipe", "pipe"],
          ...options.spawn
        })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    ),
    (child) => {
      let [stdout, stderr] = ["", ""]
      const listeners = new Set<() => void>()
      const heard = () => listeners.forEach((listener) => listener())
      child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text, heard()))
      child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text, heard()))
      const end = new Promise<Ended>((resolve) => {
        child.on("close", (code, signal) => resolve({ code: code ?? signal ?? "unknown", stdout, stderr }))
      })
      const says = (text: string) =>
        Effect.promise(() =>
          new Promise<void>((resolve) => {
            const look = () => (stdout.includes(text) || stderr.includes(text)) && resolve()
            listeners.add(look)
            look()
            void end.then(() => resolve())
          })
        )
      const exit = new Promise<void>((resolve) => child.on("exit", () => resolve()))
      return { process: child, ended: Effect.promise(() => end), exited: Effect.promise(() => exit), says }
    }
  )

/** Runs it to its end. */
export const run = (args: ReadonlyArray<string>, options: Options): Effect.Effect<Ended> =>
  Effect.scoped(Effect.flatMap(start(args, options), (child) => child.ended))
