/** Folders that nobody may write to, root included: mounted read-only in a namespace of their own, writable outside of it. */
import { spawnSync } from "node:child_process"

const mount = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\""

/** Whether this user may mount a folder so. */
export const canMount = spawnSync("unshare", ["-rm", "sh", "-c", mount, "/tmp"]).status === 0

/** The command line of a process that may only read what is in `folder`. */
export const mounted = (folder: string, ...command: ReadonlyArray<string>): readonly [string, ...Array<string>] => [
  "unshare",
  "-rm",
  "sh",
  "-c",
  `${mount} && exec "$@"`,
  folder,
  ...command
]
