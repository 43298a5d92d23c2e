/** Owns which variables a command gets: a list of those that hold no secret. Pure. */

const allowed: ReadonlySet<string> = new Set([
  "PATH",
  "HOME",
  "USER",
  "SHELL",
  "TERM",
  "TMPDIR",
  "TZ",
  "LANG",
  // All names that POSIX and glibc know, not LC_*: ssh passes on anything with such a name.
  "LC_ALL",
  "LC_ADDRESS",
  "LC_COLLATE",
  "LC_CTYPE",
  "LC_IDENTIFICATION",
  "LC_MEASUREMENT",
  "LC_MESSAGES",
  "LC_MONETARY",
  "LC_NAME",
  "LC_NUMERIC",
  "LC_PAPER",
  "LC_TELEPHONE",
  "LC_TIME"
])

/** The variables of `parent` that are passed on, and `PWD` for a command that runs in `cwd`. */
export const make = (parent: NodeJS.ProcessEnv, cwd: string): Record<string, string> => {
  const own: Record<string, string> = { PWD: cwd }
  for (const name of allowed) {
    const value = parent[name]
    if (value !== undefined) own[name] = value
  }
  return own
}
