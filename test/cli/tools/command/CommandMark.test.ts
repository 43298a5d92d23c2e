import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync } from "node:fs"
import { join } from "node:path"
import * as CommandMark from "../../../../src/cli/tools/command/CommandMark.ts"
import { sandbox } from "../files/Sandbox.ts"

it.effect("a mark is added to those of this process, so that whoever ends it also finds what it started", () =>
  Effect.gen(function*() {
    yield* Effect.acquireRelease(
      Effect.sync(() => process.env.FIBERLOOP_COMMAND = "outer"),
      () => Effect.sync(() => delete process.env.FIBERLOOP_COMMAND)
    )
    assert.match(CommandMark.make().environment.FIBERLOOP_COMMAND ?? "", /^outer [-0-9a-f]{36}$/)
  }))

it.effect.runIf(process.platform === "linux")(
  "a process's state and group are read correctly, whatever its name contains",
  () =>
    Effect.gen(function*() {
      const name = ") Z 1 1 ("
      const program = join(yield* sandbox({ [name]: "#!/bin/sh\necho here; read line\n" }), name)
      yield* Effect.sync(() => chmodSync(program, 0o755))
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(program, { stdio: ["pipe", "pipe", "inherit"], detached: true })),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      yield* Effect.promise(() => once(child.stdout, "data"))
      const { group, state } = CommandMark.statusOf(child.pid!)
      assert.deepStrictEqual([group, state === "S" || state === "R"], [child.pid, true])
    })
)

it.effect.runIf(process.platform === "linux")(
  "a process without an environment is known to have none, and so is one that is gone",
  () =>
    Effect.gen(function*() {
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawn("sh", ["-c", "echo here; read line"], { env: {}, stdio: ["pipe", "pipe", "inherit"] })),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      yield* Effect.promise(() => once(child.stdout, "data"))
      assert.strictEqual(CommandMark.environmentOf(child.pid!)?.length, 0)
      child.stdin.end()
      yield* Effect.promise(() => once(child, "close"))
      assert.strictEqual(CommandMark.environmentOf(child.pid!)?.length, 0)
      assert.include(CommandMark.environmentOf(process.pid)?.toString(), "PATH=")
    })
)
