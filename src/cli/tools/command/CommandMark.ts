/**
 * Owns finding the processes of a command that have left its process group, whoever their parent is by now: what a command
 * starts inherits its environment, and with it a mark.
 *
 * Linux only; elsewhere none is found. Nor is a process that was started with another environment (`sudo`, `env -i`), that has
 * overwritten its own, or that does not let others read it.
 */
import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"

const variable = "FIBERLOOP_COMMAND"

export interface CommandMark {
  /** the command's environment: its mark follows those that this process has, so that whoever started that finds both */
  readonly environment: Readonly<Record<string, string>>
  readonly lookOutside: (group: number) => Look
}

export interface Look {
  /** The living processes that have the mark and are in another process group. */
  readonly found: ReadonlyArray<number>
  /** `false` where one more may have it: a process that ends, or becomes another program (execve(2)), shows no environment. */
  readonly isSure: boolean
}

/** A unique mark. */
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

/** The processes that exist; none where there is no /proc. */
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
  /** What Linux sets last when it loads a program: where its code is. Before that, its environment may not be there. */
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

/** Empty where there is none, or nobody may read it; `undefined` while the process begins or ends. */
export const environmentOf = (pid: number): Buffer | undefined => {
  const environment = contentOf(`/proc/${pid}/environ`)
  if (environment === undefined || environment.at(-1) === 0) return environment ?? none
  // cut off because another program took its place
  if (environment.length > 0) return undefined
  const { hasEnvironment, isKernel, isLoaded, state } = statusOf(pid)
  return isDead(state) || isKernel || (isLoaded && !hasEnvironment) ? none : undefined
}

const none = Buffer.alloc(0)

/** `undefined` for a process that is gone, or that this user may not read. */
const contentOf = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}
