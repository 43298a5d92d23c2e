/**
 * Owns finding the processes of a command that are not in its process group any more, whoever their parent is by now: what
 * a command starts inherits its environment, and a mark in it.
 *
 * Linux only, elsewhere none is found. Nor is a process that was started with another environment (`sudo`, `env -i`), nor
 * one that has written over its own, or lets nobody read it.
 */
import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"

const variable = "FIBERLOOP_COMMAND"

export interface CommandMark {
  /** what the command gets: after the marks that this process has itself, so that whoever started that finds them too */
  readonly environment: Readonly<Record<string, string>>
  readonly lookOutside: (group: number) => Look
}

export interface Look {
  /** The living processes that have the mark and are in another process group. */
  readonly found: ReadonlyArray<number>
  /** `false` where one more may have it: a process that becomes another program (execve(2)), or ends, tells no environment meanwhile. */
  readonly isSure: boolean
}

/** A mark that no other command has. */
export const make = (): CommandMark => {
  const mark = randomUUID()
  const outer = process.env[variable]
  return {
    environment: { [variable]: outer === undefined ? mark : `${outer} ${mark}` },
    lookOutside: (group) => {
      let isSure = true
      const found = pids().filter((pid) => {
        const environment = environmentOf(pid)
        isSure &&= environment !== undefined
        return environment?.includes(mark) === true && statusOf(pid).group !== group
      })
      return { found, isSure }
    }
  }
}

/** The processes that there are; none where there is no /proc to tell. */
export const pids = (): ReadonlyArray<number> => {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number)
  } catch {
    return []
  }
}

interface Status {
  readonly state: string | undefined
  readonly group: number
  /** PF_KTHREAD: a part of the kernel, with no memory of its own */
  readonly isKernel: boolean
  /** What Linux notes last of a program that begins: where its code is. Before that its environment may not be there. */
  readonly isLoaded: boolean
  readonly hasEnvironment: boolean
}

/** See proc_pid_stat(5); the name, in parentheses, may hold any character. */
export const statusOf = (pid: number): Status => {
  const stat = contentOf(`/proc/${pid}/stat`)?.toString() ?? ""
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state, , group, , , , flags] = fields
  const [startCode, startEnvironment, endEnvironment] = [fields[23], fields[47], fields[48]]
  return {
    state,
    group: Number(group),
    isKernel: (Number(flags) & 0x200000) !== 0,
    isLoaded: startCode !== "0",
    hasEnvironment: startEnvironment !== endEnvironment
  }
}

/** Whether a process of this state is dead and only waits to be reaped. */
export const isDead = (state: string | undefined): boolean => state === "Z" || state === "X"

/** Empty where there is none, and where nobody may read it; `undefined` where it comes or goes at this moment. */
export const environmentOf = (pid: number): Buffer | undefined => {
  const environment = contentOf(`/proc/${pid}/environ`)
  if (environment === undefined || environment.at(-1) === 0) return environment ?? none
  // cut off by another program that took its place
  if (environment.length > 0) return undefined
  const { hasEnvironment, isKernel, isLoaded, state } = statusOf(pid)
  return isDead(state) || isKernel || (isLoaded && !hasEnvironment) ? none : undefined
}

const none = Buffer.alloc(0)

/** `undefined` of a process that is gone, and where it is not for this user to read. */
const contentOf = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}
