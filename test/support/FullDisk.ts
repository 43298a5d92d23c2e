/** Disks that really are full: file systems of a few megabytes in their own namespace, and files that may not grow. */
import { spawnSync } from "node:child_process"

const works = (command: string, ...args: ReadonlyArray<string>) => spawnSync(command, args).status === 0

/** Whether this user may mount a file system that only its own processes see. */
export const canMount = works("unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp")

/** Whether the maximum size of a process's files can be changed while it runs. */
export const canLimit = works("prlimit", "--version")

/** The command line of a process that finds a file system of a few megabytes at `folder`. */
export const mounted = (folder: string, ...command: ReadonlyArray<string>): readonly [string, ...Array<string>] => [
  "unshare",
  "-rm",
  "sh",
  "-c",
  `mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"`,
  folder,
  ...command
]
