/**
 * Owns one temporary folder and the processes that run in it: both are gone when this process ends, however it ends.
 * Does not own what is run.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as FileSystem from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join, resolve } from "node:path"

export interface Output {
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd: string
  /** Folders to put before the PATH. */
  readonly bin?: ReadonlyArray<string>
  readonly env?: Record<string, string>
  /** How long it may take, in seconds; default 240. */
  readonly seconds?: number
}

const root = FileSystem.mkdtempSync(join(tmpdir(), "fiberloop-pack-"))
const running = new Set<ChildProcess>()

const kill = (child: ChildProcess) => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
  } catch {
    // the group has ended already
  }
}

process.on("exit", () => {
  running.forEach(kill)
  FileSystem.rmSync(root, { recursive: true, force: true })
})
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1))

/** Makes a folder with the given files; content that is not a string is written as JSON. */
export const folder = (name: string, files: Record<string, unknown>): string => {
  const path = join(root, name)
  FileSystem.mkdirSync(path, { recursive: true })
  for (const [file, content] of Object.entries(files)) {
    FileSystem.writeFileSync(join(path, file), typeof content === "string" ? content : JSON.stringify(content))
  }
  return path
}

const repository = dirname(import.meta.dirname)
const isOfNpmRun = (path: string) =>
  path.endsWith("node-gyp-bin") || path.endsWith("node_modules/.bin") && repository.startsWith(resolve(path, "../.."))

/** The environment of a shell that knows neither this repository's `npm run`, nor its Node, nor a provider. */
const outside = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|OPENAI_|FIBERLOOP_|NODE_OPTIONS$)/i.test(name))
)
const path = (outside.PATH ?? "").split(delimiter).filter((_) => !isOfNpmRun(_))

/** Runs a command to its end. Fails, with all of its output, unless it exits with 0 in time. */
export const run = (
  command: string,
  args: ReadonlyArray<string>,
  { bin = [], cwd, env = {}, seconds = 240 }: RunOptions
): Promise<Output> =>
  new Promise((succeed, fail) => {
    const child = spawn(command, args, {
      cwd,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...outside, PATH: [...bin, ...path].join(delimiter), ...env }
    })
    running.add(child)
    const output = { stdout: "", stderr: "" }
    child.stdout.on("data", (chunk) => output.stdout += chunk)
    child.stderr.on("data", (chunk) => output.stderr += chunk)
    const timer = setTimeout(() => kill(child), seconds * 1000)
    const settle = (end: number | string) => {
      clearTimeout(timer)
      running.delete(child)
      if (end === 0) succeed(output)
      else fail(new Error(`${[command, ...args].join(" ")}\nin ${cwd} ended with ${end}${said(output)}`))
    }
    child.on("error", (error) => settle(error.message))
    child.on("close", (code, signal) => settle(code ?? `${signal} (it has ${seconds} s)`))
  })

/** Runs npm, without its notices about itself. */
export const npm = (args: ReadonlyArray<string>, options: RunOptions): Promise<Output> =>
  run("npm", [...args, "--no-audit", "--no-fund", "--no-update-notifier"], options)

/** Fails with a message and the output, unless the claim holds. */
export function expect(claim: boolean, message: string, output: Partial<Output> = {}): asserts claim {
  if (!claim) throw new Error(message + said(output))
}

const said = (output: Partial<Output>) =>
  Object.entries(output).map(([name, text]) => `\n--- ${name}\n${text.trimEnd() || "(nothing)"}`).join("")

/** Does a named piece of work and reports how long it took. Ends this process when it fails. */
export const step = async <A>(name: string, work: () => Promise<A>): Promise<A> => {
  const start = performance.now()
  try {
    const result = await work()
    console.log(`ok    ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
    return result
  } catch (error) {
    console.error(`FAIL  ${name}\n${String(error instanceof Error ? error.message : error).replace(/^/gm, "      ")}`)
    process.exit(1)
  }
}
