/** An example as a user starts it: its own process, killed with its scope. The model is a server on loopback. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type * as OpenAiServer from "../support/OpenAiServer.ts"
import * as Processes from "../support/Processes.ts"

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

export interface Options {
  readonly name: string
  readonly args?: ReadonlyArray<string>
  readonly model: OpenAiServer.Server
  readonly env: Readonly<Record<string, string>>
  /** the folder it runs in; default: that of this process */
  readonly folder?: string
}

export const start = Effect.fnUntraced(function*({ args = [], env, folder, model, name }: Options) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [
        "--disable-warning=ExperimentalWarning",
        "--import",
        path("./Source.ts"),
        path(`../../examples/${name}`),
        ...args
      ], { cwd: folder, env: { ...process.env, ...env, OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: "sk-test" } })
    ),
    Processes.kill
  )
  const out: { text: string; readonly waiting: Array<{ text: string; done: Deferred.Deferred<void> }> } = {
    text: "",
    waiting: []
  }
  const closed = once(child, "close")
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      out.text += text
      for (const { done, text } of out.waiting) if (out.text.includes(text)) Deferred.doneUnsafe(done, Effect.void)
    })
  }
  return {
    /** Waits until the process has written this to standard output or standard error. */
    wrote: (text: string) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<void>()
        out.waiting.push({ text, done })
        return out.text.includes(text) ? Effect.void : Deferred.await(done)
      }),
    write: (text: string) => Effect.sync(() => child.stdin.write(text)),
    end: Effect.sync(() => child.stdin.end()),
    /** What it has written so far. */
    written: Effect.sync(() => out.text),
    interrupt: Effect.sync(() => child.kill("SIGINT")),
    terminate: Effect.sync(() => child.kill("SIGTERM")),
    /** Waits for its end; everything it wrote, and its exit code. */
    result: Effect.promise(() => closed).pipe(Effect.map(() => ({ out: out.text, code: child.exitCode })))
  }
})

export const run = (options: Options) => Effect.flatMap(start(options), (example) => example.result)
