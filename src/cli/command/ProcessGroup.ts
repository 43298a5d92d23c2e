/**
 * Owns starting a program as the leader of a process group of its own, and ending the whole group.
 *
 * Over node:child_process: effect/process starts groups too, but takes processes that are dead and not yet reaped for
 * living ones (in a container whose first process reaps late, or not at all, each command would take seconds to end),
 * tells the signal only in words, and dies of what Node throws when it cannot start a program.
 *
 *     running --- leader exits --> members left? -- no --> gone
 *        |                             | yes
 *        +--- scope closes ------------+--> SIGTERM -- half the grace period --> SIGKILL --> gone
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { spawn as spawnChild } from "node:child_process"
import { readdir, readFile } from "node:fs/promises"
import * as Grace from "../../services/Grace.ts"
import * as CommandError from "./CommandError.ts"

/** How the leader ended: one of both is there. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ProcessGroup {
  /** Of the leader, and of the group. */
  readonly pid: number
  /** Waits for the leader. */
  readonly ended: Effect.Effect<Ended>
  /** Whether no process of the group is left. */
  readonly isGone: Effect.Effect<boolean>
  /**
   * Ends every process of the group and returns when all are gone. SIGKILL comes after half the grace period, so that
   * whoever waits for this and leaves it behind after the whole of it finds it done; what outlives SIGKILL (in the kernel,
   * or another user's) is waited for, and so left behind and named by them.
   */
  readonly terminate: Effect.Effect<void>
}

export interface Options {
  readonly command: readonly [program: string, ...args: ReadonlyArray<string>]
  readonly cwd: string
  readonly env: Record<string, string>
  /** A descriptor for both outputs. */
  readonly output: number
}

/**
 * Starts a program without a shell and without input. Its group is terminated with the scope, and killed when this process
 * exits before that; only when this process itself is killed the group goes on.
 */
export const start = (options: Options): Effect.Effect<ProcessGroup, CommandError.CommandError, Scope.Scope> =>
  Effect.acquireRelease(spawn(options), (group) => group.terminate)

const spawn = ({ command: [program, ...args], cwd, env, output }: Options) =>
  Effect.callback<ProcessGroup, CommandError.CommandError>((resume) => {
    const refuse = (cause: unknown) => resume(Effect.fail(CommandError.fromNode(program)(cause)))
    const ended = Deferred.makeUnsafe<Ended>()
    try {
      const child = spawnChild(program, args, { cwd, env, stdio: ["ignore", output, output], detached: true })
      child.on("error", refuse)
      child.on("exit", (code, signal) => Deferred.doneUnsafe(ended, Effect.succeed({ code, signal })))
      child.on("spawn", () => resume(Effect.succeed(make(child.pid!, ended))))
    } catch (cause) {
      refuse(cause)
    }
  })

const make = (pid: number, leader: Deferred.Deferred<Ended>): ProcessGroup => {
  // A group that is gone is not looked at again: its number may be another's by then.
  let isOver = false
  watch(pid)
  const ended = Deferred.await(leader)
  const isGone = Effect.promise(async () => {
    if (isOver || !Deferred.isDoneUnsafe(leader)) return isOver
    // Asked twice: a process that forks and ends while the list is read is not on it, and dead when it is looked at.
    isOver = !isThere(pid) || ((await hasOnlyZombies(pid)) && (await hasOnlyZombies(pid)))
    if (isOver) living.delete(pid)
    return isOver
  })
  const gone = Effect.gen(function*() {
    yield* ended
    // A system does not tell when a group ends.
    for (let millis = 2; !(yield* isGone); millis = Math.min(2 * millis, 100)) yield* pause(millis)
  })
  const terminate = Effect.gen(function*() {
    if (yield* isGone) return
    const patience = Duration.times(yield* Grace.Grace, 0.5)
    signal(pid, "SIGTERM")
    // A stopped process takes no other signal until it goes on.
    signal(pid, "SIGCONT")
    if (Option.isSome(yield* Effect.timeoutOption(gone, patience))) return
    signal(pid, "SIGKILL")
    yield* gone
  })
  return { pid, ended, isGone, terminate }
}

const living = new Set<number>()

const watch = (pid: number): void => {
  if (!process.listeners("exit").includes(killLiving)) process.on("exit", killLiving)
  living.add(pid)
}

const killLiving = (): void => living.forEach((pid) => signal(pid, "SIGKILL"))

const signal = (group: number, name: NodeJS.Signals): void => {
  try {
    process.kill(-group, name)
  } catch {
    // Nobody is left, or only what this user may not signal: `isGone` tells.
  }
}

/** Time of the wall, not of the Clock: other processes take it. */
const pause = (millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })

const isThere = (group: number): boolean => {
  try {
    return process.kill(-group, 0)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    // macOS says EPERM of a group that has only zombies, Linux of one that has only other users' processes.
    return code === "EPERM" && process.platform !== "darwin"
  }
}

/** Whether all members of a group are dead and only wait to be reaped; false where there is no /proc to tell. */
const hasOnlyZombies = async (group: number): Promise<boolean> => {
  const entries = await readdir("/proc").catch(() => [])
  const stats = await Promise.all(
    entries.filter((name) => /^\d+$/.test(name)).map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""))
  )
  const members = stats.map(memberOf).filter((member) => member.group === group)
  return entries.length > 0 && members.every(({ state }) => state === "Z" || state === "X")
}

/** State and process group, see proc_pid_stat(5); the name, in parentheses, may hold any character. */
const memberOf = (stat: string): { readonly state: string | undefined; readonly group: number } => {
  const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { state, group: Number(group) }
}
