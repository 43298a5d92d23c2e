/**
 * Owns starting a program as the leader of its own process group, and ending the members: the group, and those that left it,
 * as far as they are found (`CommandMark.ts`).
 *
 * Uses node:child_process: effect/process starts groups too, but takes dead processes that are not yet reaped for living
 * ones (in a container whose first process reaps late, or not at all, each command would take seconds to end), reports the
 * signal only in words, and dies of what Node throws when it cannot start a program.
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
import * as Grace from "../../../services/Grace.ts"
import * as CommandError from "./CommandError.ts"
import * as CommandMark from "./CommandMark.ts"

/** How the leader ended: one of the two is set. */
interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface ProcessGroup {
  /** Of the leader, and of the group. */
  readonly pid: number
  /** Waits for the leader. */
  readonly ended: Effect.Effect<Ended>
  /** Whether no member is left. */
  readonly isGone: Effect.Effect<boolean>
  /**
   * Ends every member and returns when all are gone. SIGKILL comes after half the grace period, so that a caller which leaves
   * this behind after all of it finds it done. What outlives SIGKILL (in the kernel, or another user's) is waited for, and so
   * is left behind and named by the caller.
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
 * Starts a program without a shell and without input. Its members are terminated with the scope, and killed when this
 * process exits before that; they survive only if this process itself is killed.
 */
export const start = (options: Options): Effect.Effect<ProcessGroup, CommandError.CommandError, Scope.Scope> =>
  Effect.acquireRelease(spawn(options), (group) => group.terminate)

const spawn = ({ command: [program, ...args], cwd, env, output }: Options) =>
  Effect.callback<ProcessGroup, CommandError.CommandError>((resume) => {
    const refuse = (cause: unknown) => resume(Effect.fail(CommandError.fromNode(program)(cause)))
    const ended = Deferred.makeUnsafe<Ended>()
    const mark = CommandMark.make()
    try {
      const child = spawnChild(program, args, {
        cwd,
        env: { ...env, ...mark.environment },
        stdio: ["ignore", output, output],
        detached: true
      })
      child.on("error", refuse)
      child.on("exit", (code, signal) => Deferred.doneUnsafe(ended, Effect.succeed({ code, signal })))
      child.on("spawn", () => resume(Effect.succeed(make({ pid: child.pid!, mark, hasGroup: true }, ended))))
    } catch (cause) {
      refuse(cause)
    }
  })

/** The processes of a command: its group, and those outside the group that have its mark. */
interface Members {
  readonly pid: number
  readonly mark: CommandMark.CommandMark
  /** `false` once the group is empty: after that its number may be another's. */
  hasGroup: boolean
}

const make = (members: Members, leader: Deferred.Deferred<Ended>): ProcessGroup => {
  let isOver = false
  watch(members)
  const ended = Deferred.await(leader)
  const isGone = Effect.gen(function*() {
    if (isOver || !Deferred.isDoneUnsafe(leader)) return isOver
    if (left(members) === "some") return false
    // Asked twice: a process that forks during the look may be on no list.
    for (let looks = 1;; looks++) {
      yield* pause(lookAgain)
      const who = left(members)
      if (who === "some") return false
      if (who === "none" || looks === mostLooks) break
    }
    isOver = true
    forget(members)
    return true
  })
  const gone = (meanwhile: () => void) =>
    Effect.gen(function*() {
      // The system does not report the end of a group.
      for (let millis = 2; !(yield* isGone); millis = Math.min(2 * millis, 100)) {
        meanwhile()
        yield* Deferred.isDoneUnsafe(leader) ? pause(millis) : Effect.raceFirst(ended, pause(millis))
      }
    })
  const terminate = Effect.gen(function*() {
    if (yield* isGone) return
    const patience = Duration.times(yield* Grace.Grace, 0.5)
    const told = new Set<number>()
    // A stopped process handles no other signal until it is continued.
    const tell = () => signal(members, ["SIGTERM", "SIGCONT"], told)
    if (Option.isSome(yield* Effect.timeoutOption(gone(tell), patience))) return
    yield* gone(() => signal(members, ["SIGKILL"]))
  })
  return { pid: members.pid, ended, isGone, terminate }
}

const living = new Set<Members>()

const watch = (members: Members): void => {
  if (living.size === 0) process.on("exit", killLiving)
  living.add(members)
}

const forget = (members: Members): void => {
  living.delete(members)
  if (living.size === 0) process.off("exit", killLiving)
}

const killLiving = (): void => {
  const kill = () => [...living].map((members) => signal(members, ["SIGKILL"])).every((isSure) => isSure)
  kill()
  for (let isSure = false, looks = 1; !isSure && looks <= mostLooks; looks++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookAgain)
    isSure = kill()
  }
}

/** In milliseconds. */
const lookAgain = 2

/**
 * How often to look for remaining members while a process does not show its environment: becoming another program takes it less
 * than a millisecond. After that, it is no longer waited for. A look takes a few milliseconds, because there are many processes.
 */
const mostLooks = 25

/** Sends the signals to all members except those that had them before. `false` where one more may exist. */
const signal = (
  { hasGroup, mark, pid }: Members,
  names: ReadonlyArray<NodeJS.Signals>,
  told?: Set<number>
): boolean => {
  const tell = (target: number) => {
    if (told?.has(target)) return
    told?.add(target)
    for (const name of names) send(target, name)
  }
  if (hasGroup) tell(-pid)
  // Looked for after that: a process that leaves the group just now was signalled with it, or is found here.
  const { found, isSure } = mark.lookOutside(pid)
  found.forEach(tell)
  return isSure
}

const send = (target: number, name: NodeJS.Signals): void => {
  try {
    process.kill(target, name)
  } catch {
    // No member is left, or only some that this user may not signal: `isGone` finds out.
  }
}

/** Wall clock time, not the Clock's: it waits for other processes. */
const pause = (millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })

/** Which members are left; `unknown` where a process does not show yet whether it is one. */
const left = (members: Members): "none" | "some" | "unknown" => {
  const { mark, pid } = members
  members.hasGroup &&= isThere(pid)
  if (members.hasGroup && !hasOnlyZombies(pid)) return "some"
  const { found, isSure } = mark.lookOutside(pid)
  return found.length > 0 ? "some" : isSure ? "none" : "unknown"
}

const isThere = (group: number): boolean => {
  try {
    return process.kill(-group, 0)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    // macOS returns EPERM for a group with only zombies, Linux for one with only other users' processes.
    return code === "EPERM" && process.platform !== "darwin"
  }
}

/** Whether all members of a group are dead and only wait to be reaped; false where there is no /proc. */
const hasOnlyZombies = (group: number): boolean => {
  const pids = CommandMark.pids()
  const members = pids.map(CommandMark.statusOf).filter((member) => member.group === group)
  return pids.length > 0 && members.every(({ state }) => CommandMark.isDead(state))
}
