/**
 * The command in a pseudo-terminal, with a person who types and reads the screen. The screen is what a terminal makes of
 * the bytes, its scrollback included.
 */
import { type IPty, spawn } from "@lydell/node-pty"
import { Terminal as Emulator } from "@xterm/headless"
import { Effect, type Scope } from "effect"
import { environment, main } from "./Child.ts"

export interface Options {
  readonly cwd: string
  readonly env?: Record<string, string>
  readonly columns?: number
  /** what starts the command, given its path and arguments, for example a shell; default: nothing but Node */
  readonly through?: readonly [string, ...Array<string>]
}

export interface Terminal {
  /** Keys; Enter is `\r`, Ctrl-C is `\x03`. */
  readonly type: (keys: string) => Effect.Effect<void>
  /** Awaits text on the screen that was not there when something was last typed; dies if the command ends first. */
  readonly sees: (text: string) => Effect.Effect<void>
  /** Sends the command a signal, from outside the terminal. */
  readonly kill: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Awaits the end of the command. */
  readonly ended: Effect.Effect<Ended>
}

export interface Ended {
  readonly code: number
  readonly screen: string
  /** what was sent to the terminal */
  readonly bytes: string
}

export const start = (args: ReadonlyArray<string>, options: Options): Effect.Effect<Terminal, never, Scope.Scope> =>
  Effect.gen(function*() {
    const size = { cols: options.columns ?? 100, rows: 40 }
    const emulator = new Emulator({ ...size, scrollback: 10_000, allowProposedApi: true })
    yield* Effect.addFinalizer(() => Effect.sync(() => emulator.dispose()))
    const watch = watcher(emulator)
    const [file, ...before] = [...options.through ?? [], process.execPath] as [string, ...Array<string>]
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(file, [...before, main, ...args], {
          ...size,
          cwd: options.cwd,
          env: { ...environment, TERM: "xterm-256color", ...options.env }
        })
      ),
      (child) => Effect.promise(() => watch.hasEnded() ? Promise.resolve() : killed(child))
    )
    let bytes = ""
    child.onData((more) => {
      bytes += more
      emulator.write(more, watch.look)
    })
    child.onExit(({ exitCode }) => emulator.write("", () => watch.end(exitCode, bytes)))
    return {
      type: (keys) =>
        Effect.sync(() => {
          watch.mark()
          child.write(keys)
        }),
      sees: (text) => Effect.promise(() => watch.sees(text)),
      kill: (signal) => Effect.sync(() => child.kill(signal)),
      ended: Effect.promise(() => watch.ended)
    }
  })

/** Runs the command to its end with nobody typing. */
export const run = (args: ReadonlyArray<string>, options: Options) =>
  Effect.scoped(Effect.flatMap(start(args, options), ({ ended }) => ended))

const killed = (child: IPty): Promise<void> =>
  new Promise((resolve) => {
    child.onExit(() => resolve())
    child.kill("SIGKILL")
  })

/** Those who look at the screen, each time something was drawn. */
const watcher = (emulator: Emulator) => {
  const looking = new Set<() => void>()
  const end = Promise.withResolvers<Ended>()
  let hasEnded = false
  /** What was read before something was last typed: the rows above this one, and what was in it. */
  let read = { row: 0, line: "" }
  const unread = () => {
    const screen = screenOf(emulator, read.row)
    return screen.startsWith(read.line) ? screen.slice(read.line.length) : screen
  }
  const look = () => looking.forEach((look) => look())
  return {
    look,
    mark: () => {
      const row = emulator.buffer.active.baseY + emulator.buffer.active.cursorY
      read = { row, line: screenOf(emulator, row) }
    },
    hasEnded: () => hasEnded,
    end: (code: number, bytes: string) => {
      hasEnded = true
      end.resolve({ code, screen: screenOf(emulator), bytes })
      look()
    },
    ended: end.promise,
    sees: (text: string) =>
      new Promise<void>((resolve, reject) => {
        const stop = (because?: string) => {
          looking.delete(seen)
          clearTimeout(patience)
          if (because === undefined) return resolve()
          reject(new Error(`${because} without ${JSON.stringify(text)}:\n${screenOf(emulator)}`))
        }
        const seen = () => {
          if (unread().includes(text)) stop()
          else if (hasEnded) stop("the command ended")
        }
        // Only so that a failing test shows the screen.
        const patience = setTimeout(stop, 15_000, "15 s passed")
        looking.add(seen)
        seen()
      })
  }
}

/** The lines from a row on; wrapped ones are joined, and trailing blanks are cut off. */
const screenOf = ({ buffer: { active } }: Emulator, from = 0): string => {
  const lines: Array<string> = []
  for (let row = from; row < active.length; row++) {
    const line = active.getLine(row)!
    if (line.isWrapped && lines.length > 0) lines.push(lines.pop()! + line.translateToString(true))
    else lines.push(line.translateToString(true))
  }
  return lines.join("\n").trimEnd()
}
