/**
 * Who owns a session, and whether that process can still be alive: this ends the lease of a killed process early.
 *
 * Does not own the lease itself, which is in the database.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import { readFileSync, readlinkSync } from "node:fs"
import { hostname } from "node:os"

/** `host`, `boot` and `start` are compared as they are; the last two are empty where the system does not report them. */
export interface Owner {
  /** the name of the machine, followed by the namespace that `pid` belongs to */
  readonly host: string
  readonly pid: number
  /** when the process started, so that a reused `pid` is another process */
  readonly start: string
  /** identifies one start of one machine, since machines may share a name */
  readonly boot: string
  readonly runId: string
  /** whether it looks for requests to abort */
  readonly hearsAborts?: boolean
  /** whether it looks for what is said to its run */
  readonly hearsSent?: boolean
}

export interface Liveness {
  /** an owner counts as live for this long after it renewed its lease */
  readonly lease: Duration.Duration
  readonly renewEvery: Duration.Duration
  /** `true` only when the owner's process is certainly gone: it ends the lease at once */
  readonly isDead: (owner: Owner) => boolean
}

/** Default: a lease of 30 seconds, renewed every 10; processes of this machine are looked up. */
export const OwnerLiveness = Context.Reference<Liveness>("fiberloop/layers/OwnerLiveness", {
  defaultValue: () => ({
    lease: Duration.seconds(30),
    renewEvery: Duration.seconds(10),
    isDead: (owner) => isDead(owner)
  })
})

/** This process as the owner of a session. */
export const self = (runId: string): Owner => ({ ...thisProcess(), runId })

let named = 0

/** This process as the owner of a session that hears of this, as JSON that is unique among the claims of all processes. */
export const name = (runId: string, hears: Pick<Owner, "hearsAborts" | "hearsSent">): string =>
  JSON.stringify({
    ...self(runId),
    ...hears,
    claim: `${performance.timeOrigin}.${++named}`
  })

/** An owner of another boot may run on another machine of the same name, so only its lease says when it is gone. */
export const isDead = (owner: Owner): boolean => {
  const { boot, host } = thisProcess()
  if (owner.host !== host || owner.boot !== boot) return false
  const stat = statOf(owner.pid)
  if (stat === undefined) return !answersSignals(owner.pid)
  return stat.state === "Z" || stat.state === "X" || stat.start !== owner.start
}

let known: Omit<Owner, "runId"> | undefined

const thisProcess = (): Omit<Owner, "runId"> =>
  known ??= {
    host: [hostname(), attempt(() => readlinkSync("/proc/self/ns/pid"))].filter(Boolean).join(" "),
    pid: process.pid,
    start: statOf(process.pid)?.start ?? "",
    boot: attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"))?.trim() ?? ""
  }

/** State and start time of a process on Linux, see proc_pid_stat(5); its name, in parentheses, may hold any character. */
const statOf = (pid: number): { readonly state: string; readonly start: string } | undefined => {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"))
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { state: fields[0] ?? "", start: fields[19] ?? "" }
}

/** Signal 0 succeeds when the process exists; for another user's process it fails with a code other than ESRCH. */
const answersSignals = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return !(cause instanceof Error && "code" in cause && cause.code === "ESRCH")
  }
}

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}
