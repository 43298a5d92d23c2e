/** The whole command in this process. */
import { ConfigProvider, Effect, Layer } from "effect"
import { join } from "node:path"
import { program } from "../../src/cli/Program.ts"
import { type Signal, Signals } from "../../src/cli/terminal/Signals.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as Keyboard from "./Keyboard.ts"
import { type Options, Recorder } from "./Recorder.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

export interface Invocation extends Options {
  readonly env?: Record<string, string>
  readonly signal?: Signal
  /** instead of `signal` */
  readonly signals?: Pick<Signals["Service"], "first" | "forget">
  /** piped input, or what is typed if `isTerminal` */
  readonly input?: Keyboard.Script
}

export const invoke = (
  args: ReadonlyArray<string>,
  { env = {}, input = [], signal, signals, ...options }: Invocation = {}
) => {
  const recorder = new Recorder(options)
  const first = signal === undefined ? Effect.never : Effect.succeed(signal)
  const signalled = Layer.succeed(Signals, { first, forget: Effect.void, leaving: () => Effect.void, ...signals })
  return program(args, "1.2.3").pipe(
    Effect.provide([
      recorder.layer,
      Keyboard.layer(recorder, input, options),
      signalled,
      ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
    ]),
    Effect.map((code) => ({ code, stdout: recorder.stdout, stderr: recorder.stderr, tape: recorder.tape }))
  )
}

/** `run` and the other commands with a folder and a database of its own. */
export const workplace = Effect.fnUntraced(function*(files: Parameters<typeof sandbox>[0] = {}) {
  const root = yield* sandbox(files)
  const db = join(yield* sandbox(), "sessions.db")
  return {
    root,
    db,
    run: (args: ReadonlyArray<string>, options?: Invocation) =>
      invoke(["run", "--root", root, "--db", db, ...args], options),
    /** one of the other commands */
    on: (command: string, args: ReadonlyArray<string> = [], options?: Invocation) =>
      invoke([command, "--db", db, ...args], options),
    store: SessionStoreSqlite.layer({ filename: db })
  }
})

/** The session that a run names on standard error. */
export const idOf = ({ stderr }: { readonly stderr: string }): string => /session (\S+)/.exec(stderr)![1]!

/** A workplace with a session of one run, and its id. */
export const withSession = Effect.fnUntraced(function*(task = "2+2", flags: ReadonlyArray<string> = []) {
  const place = yield* workplace()
  return { ...place, id: idOf(yield* place.run([task, ...flags])) }
})
