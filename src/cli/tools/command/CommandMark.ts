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
  /** what the command gets: behind the marks that this process has itself, so that whoever started that finds them too */
  readonly environment: Readonly<Record<string, string>>
  /** The living processes that have it and are in another process group than `group`. */
  readonly outside: (group: number) => ReadonlyArray<number>
}

/** A mark that no other command has. */
export const make = (): CommandMark => {
  const mark = randomUUID()
  const outer = process.env[variable]
  return {
    environment: { [variable]: outer === undefined ? mark : `${outer} ${mark}` },
    outside: (group) => pids().filter((pid) => isMarked(pid, mark) && statusOf(pid).group !== group)
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

/** State and process group, see proc_pid_stat(5); the name, in parentheses, may hold any character. */
export const statusOf = (pid: number): { readonly state: string | undefined; readonly group: number } => {
  const stat = contentOf(`/proc/${pid}/stat`).toString()
  const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { state, group: Number(group) }
}

/** What is dead has no environment left. */
const isMarked = (pid: number, mark: string): boolean => contentOf(`/proc/${pid}/environ`).includes(mark)

/** Nothing of a process that is gone, or another user's. */
const contentOf = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}
