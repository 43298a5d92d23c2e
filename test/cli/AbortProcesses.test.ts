/** Ctrl-C and SIGTERM while one of the agent's commands runs: the run ends, and no process of the command is left. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { join } from "node:path"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { beacon, isAlive } from "../support/Beacon.ts"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Child from "./Child.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

/** Scripts that write the pids of all their processes to `$1` and wait. */
const scripts = {
  "a process that ends when it is told to": `echo $$ > "$1"; exec sleep 1000`,
  "a process that ignores SIGTERM": `trap "" TERM; sleep 1000 & echo $$ $! > "$1"; wait; wait`,
  "a grandchild that holds the output": `sh -c 'sleep 1000 & echo $PPID $$ $! > "$1"; wait' sh "$1" & wait`
}

const logOf = (cwd: string) =>
  Effect.gen(function*() {
    const store = yield* SessionStore.SessionStore
    const [session] = yield* store.list()
    return yield* Stream.runCollect(store.read(session!.sessionId))
  }).pipe(
    Effect.provide(SessionStoreSqlite.layer({ filename: join(cwd, ".fiberloop/sessions.db") })),
    Effect.orDie
  )

/** The command while one of its agent's commands runs. */
const running = Effect.fnUntraced(function*(script: string) {
  const { line, path } = yield* beacon
  const params = JSON.stringify({ command: ["sh", "-c", script, "sh", path] })
  const call = { index: 0, id: "call_1", type: "function", function: { name: "run_command", arguments: params } }
  const server = yield* OpenAiServer.make(
    OpenAiServer.events(
      OpenAiServer.data(OpenAiServer.toolCalls(call), OpenAiServer.finish("tool_calls")),
      OpenAiServer.done
    )
  )
  const cwd = yield* sandbox()
  const env = { OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: "key" }
  const child = yield* Child.start(["run", "--yes", "--model", "m", "go"], { cwd, env })
  const pids = (yield* line).trim().split(" ").map(Number)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL")
    })
  )
  return { child, cwd, pids }
})

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
  describe(`${signal} ends the run and`, () => {
    for (const [name, script] of Object.entries(scripts)) {
      it.live(name, () =>
        Effect.gen(function*() {
          const { child, cwd, pids } = yield* running(script)
          assert.deepStrictEqual(pids.map(isAlive), pids.map(() => true))
          child.process.kill(signal)
          assert.strictEqual((yield* child.ended).code, code)
          assert.deepStrictEqual(pids.map(isAlive), pids.map(() => false))
          const log = yield* logOf(cwd)
          assert.deepStrictEqual(RunLog.violations(log), [])
          assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
          assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted"])
          assert.isUndefined(RunLog.only(log, "RunAborted")[0]?.leftBehind)
        }))
    }
  })
}
