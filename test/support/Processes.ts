/** Child processes of tests, addressed over stdio and killed with their scope, and folders removed with theirs. */
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { Answer, Command } from "./SessionProcess.ts"

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "fiberloop-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

export interface SessionProcess {
  readonly pid: number
  readonly ask: (command: Command) => Effect.Effect<Answer>
  readonly signal: (signal: "SIGSTOP" | "SIGCONT") => Effect.Effect<void>
  /** SIGKILL, and waits until the process is gone */
  readonly kill: Effect.Effect<void>
}

/** A process for the sessions in a file, or at a Postgres URL, that waits for its first command, `start`. */
export const sessionProcess = Effect.fnUntraced(function*(place: string) {
  const script = fileURLToPath(new URL("./SessionProcess.ts", import.meta.url))
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [script, place], { stdio: ["pipe", "pipe", "inherit"] })),
    kill
  )
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = Effect.promise(() => lines.next()).pipe(
    Effect.filterOrElse(
      (line) => line.done !== true,
      () => Effect.die(new Error("The process ended without an answer"))
    ),
    Effect.map((line) => line.value)
  )
  yield* nextLine
  const ask = (command: Command) =>
    Effect.andThen(
      Effect.sync(() => child.stdin.write(`${JSON.stringify(command)}\n`)),
      Effect.map(nextLine, (line): Answer => JSON.parse(line))
    )
  const self: SessionProcess = {
    pid: child.pid!,
    ask,
    signal: (signal) => Effect.sync(() => child.kill(signal)),
    kill: kill(child)
  }
  return self
})

/** Kills a process, and awaits its end. */
export const kill = (child: ChildProcess): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, "exit")
    child.kill("SIGKILL")
    await exit
  })

/** A process that has opened the database. */
export const startedProcess = (place: string) =>
  Effect.tap(sessionProcess(place), (child) => child.ask({ do: "start" }))
