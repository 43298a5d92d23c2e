import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync, spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as ChangingTools from "../../../../src/cli/tools/ChangingTools.ts"
import * as ShownFiles from "../../../../src/cli/tools/write/ShownFiles.ts"
import * as ToolExecutorToolkit from "../../../../src/layers/ToolExecutorToolkit.ts"
import type { ToolOutcome } from "../../../../src/run/ToolOutcome.ts"
import * as LeaveBehind from "../../../../src/services/LeaveBehind.ts"
import type { Handlers } from "../../../../src/services/ToolExecutor.ts"
import { beacon, isAlive } from "../../../support/Beacon.ts"
import { sandbox } from "../files/Sandbox.ts"
import { run } from "../write/Calls.ts"

const sh = (script: string, ...args: ReadonlyArray<string>) => ({
  command: ["sh", "-c", script, "sh", ...args] as const
})

/** Reports SIGTERM and keeps running, even without its children. */
const stubborn = `trap 'echo term > "$1"' TERM; echo $$ > "$1"; while :; do sleep 1000 & wait $!; done`

/** A session of its own that reports its pid, replacing the shell that runs this. */
const leaving = `exec setsid sh -c 'echo $$ > "$1"; exec sleep 1000' sh "$1"`
/** The same, tied to its command by nothing but the output. */
const vanishing = leaving.replace("setsid", `env -i PATH="$PATH" setsid`)

const killed = (pid: number) => Effect.addFinalizer(() => Effect.ignore(Effect.try(() => process.kill(pid, "SIGKILL"))))

const naming = (left: Array<string>) =>
  Effect.provideService(LeaveBehind.LeaveBehind, (name) => Effect.sync(() => void left.push(name)))

const pids = (line: string) => line.trim().split(/\s+/).map(Number)

const areAlive = (processes: ReadonlyArray<number>) => processes.map(isAlive)

describe("when a command is interrupted", () => {
  it.effect("all of its processes are gone by the time it has ended", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const script = `sleep 1000 & a=$!; sh -c 'sleep 1000; true' & echo $$ $a $! > "$1"; wait`
      const fiber = yield* Effect.forkChild(run(root, sh(script, path)))
      const processes = pids(yield* line)
      assert.deepStrictEqual(areAlive(processes), [true, true, true])
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(areAlive(processes), [false, false, false])
    }))

  it.effect("nobody holds on to what they had open", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path, released } = yield* beacon
      const fiber = yield* Effect.forkChild(
        run(root, sh(`exec 3> "$1"; sleep 1000 & sleep 1000 & echo >&3; wait`, path))
      )
      yield* line
      yield* Fiber.interrupt(fiber)
      yield* released
    }))

  it.effect("a process that ignores SIGTERM is killed after half the grace period", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const fiber = yield* Effect.forkChild(run(root, sh(stubborn, path)))
      const [pid] = pids(yield* line)
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(fiber))
      assert.strictEqual(yield* line, "term")
      yield* TestClock.adjust("2499 millis")
      assert.isTrue(isAlive(pid!))
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(interrupted)
      assert.isFalse(isAlive(pid!))
    }))

  it.effect("a grandchild that ignores SIGTERM is also killed after half the grace period", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const fiber = yield* Effect.forkChild(run(root, sh(`sh -c "$2" sh "$1" & wait`, path, stubborn)))
      const [pid] = pids(yield* line)
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(fiber))
      assert.strictEqual(yield* line, "term")
      yield* TestClock.adjust("2500 millis")
      yield* Fiber.join(interrupted)
      assert.isFalse(isAlive(pid!))
    }))

  it.effect("a process that changed its environment but stayed in its group is also gone", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const script = `env -i PATH="$PATH" sh -c 'echo $$ > "$1"; exec sleep 1000' sh "$1" & wait`
      const fiber = yield* Effect.forkChild(run(root, sh(script, path)))
      const [pid] = pids(yield* line)
      yield* killed(pid!)
      yield* Fiber.interrupt(fiber)
      assert.isFalse(isAlive(pid!))
    }))

  it.effect("a process that left its group ends when told to", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const script = `(setsid sh -c 'sleep 1000 & echo $$ $! > "$1"; wait' sh "$1" &) & wait; sleep 1000`
      const fiber = yield* Effect.forkChild(run(root, sh(script, path)))
      const processes = pids(yield* line)
      assert.deepStrictEqual(areAlive(processes), [true, true])
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(areAlive(processes), [false, false])
    }))

  it.effect("a process that left its group and ignores SIGTERM is killed after half the grace period", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const fiber = yield* Effect.forkChild(run(root, sh(`setsid sh -c "$2" sh "$1" & wait`, path, stubborn)))
      const [pid] = pids(yield* line)
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(fiber))
      assert.strictEqual(yield* line, "term")
      yield* TestClock.adjust("2500 millis")
      yield* Fiber.join(interrupted)
      assert.isFalse(isAlive(pid!))
    }))

  it.effect.runIf(process.platform === "linux")(
    "a process that left its group and keeps becoming another program is also gone",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "again.sh": `exec sh "$0"` })
        // a large environment takes long to replace
        const large = `export LARGE=$(head -c 100000 /dev/zero | tr '\\0' x)`
        const again = `exec setsid sh -c 'echo $$ > "$1"; exec sh again.sh' sh "$1"`
        for (let time = 0; time < 25; time++) {
          const { line, path } = yield* beacon
          const script = `(exec > /dev/null 2>&1; ${large}; ${again}) & wait`
          const fiber = yield* Effect.forkChild(run(root, sh(script, path)))
          const [pid] = pids(yield* line)
          yield* killed(pid!)
          yield* Fiber.interrupt(fiber)
          assert.isFalse(isAlive(pid!))
        }
      })
  )

  it.effect("a process that cannot be found but holds its output is named as left behind", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const left: Array<string> = []
      const fiber = yield* Effect.forkChild(naming(left)(run(root, sh(`(${vanishing}) & wait`, path))))
      const [pid] = pids(yield* line)
      yield* killed(pid!)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([left, isAlive(pid!)], [["process of run_command"], true])
    }))

  it.effect("a stopped process is ended at once", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const fiber = yield* Effect.forkChild(run(root, sh(`echo $$ > "$1"; exec sleep 1000`, path)))
      const [pid] = pids(yield* line)
      yield* Effect.sync(() => process.kill(pid!, "SIGSTOP"))
      yield* Fiber.interrupt(fiber)
      assert.isFalse(isAlive(pid!))
    }))

  it.effect("its executor leaves nothing behind, even if the command ignored SIGTERM", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const left: Array<ToolOutcome> = []
      const execution = Effect.gen(function*() {
        const handlers = yield* ChangingTools.toolkit
        return yield* ToolExecutorToolkit.make.execute(
          handlers as unknown as Handlers,
          {
            name: "run_command",
            params: sh(stubborn, path),
            timeout: Duration.minutes(2),
            identity: {
              sessionId: "s",
              runId: "r",
              callId: "c",
              idempotencyKey: "k",
              attempt: 1,
              data: undefined
            }
          },
          { progress: () => Effect.void, leftBehind: (outcome) => Effect.sync(() => void left.push(outcome)) }
        )
      }).pipe(Effect.provide(ChangingTools.layer(root, ShownFiles.make())))
      const fiber = yield* Effect.forkChild(execution)
      const [pid] = pids(yield* line)
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(fiber))
      assert.strictEqual(yield* line, "term")
      yield* TestClock.adjust("2500 millis")
      yield* Fiber.join(interrupted)
      assert.deepStrictEqual([left, isAlive(pid!)], [[], false])
    }))
})

describe("when a command takes too long", () => {
  it.effect("it is ended, and its output so far is reported", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const fiber = yield* Effect.forkChild(
        run(root, { ...sh(`echo before; sleep 1000 & echo $$ $! > "$1"; wait`, path), timeoutSeconds: 5 })
      )
      const processes = pids(yield* line)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), {
        exitCode: null,
        signal: "SIGTERM",
        timedOut: true,
        durationMillis: 5_000,
        note: "Ended after 5 s, the time it had.",
        output: "before\n"
      })
      assert.deepStrictEqual(areAlive(processes), [false, false])
    }))

  it.effect("a command that ends well when told to has its exit code", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { line, path } = yield* beacon
      const script = `setInterval(() => {}, 1e6)
        process.on("SIGTERM", () => { console.log("saved"); process.exit(0) })
        require("fs").writeFileSync(process.argv[1], "ready\\n")`
      const fiber = yield* Effect.forkChild(
        run(root, { command: [process.execPath, "-e", script, path], timeoutSeconds: 1 })
      )
      yield* line
      yield* TestClock.adjust("1 seconds")
      const { exitCode, output, timedOut } = yield* Fiber.join(fiber)
      assert.deepStrictEqual([exitCode, output, timedOut], [0, "saved\n", true])
    }))
})

describe("when a command ends", () => {
  it.effect("what it left running, and what holds its output, is ended and reported", () =>
    Effect.gen(function*() {
      const { exitCode, note, output } = yield* run(yield* sandbox(), sh("sleep 1000 & echo $!"))
      assert.deepStrictEqual([exitCode, note], [0, "Processes that it left running were ended."])
      assert.isFalse(isAlive(Number(output)))
    }))

  it.effect("and leaves nothing running, nothing is reported", () =>
    Effect.gen(function*() {
      const { note } = yield* run(yield* sandbox(), sh("sleep 0.01 & wait; echo a | cat | cat"))
      assert.isUndefined(note)
    }))

  const fifoIn = (root: string) =>
    Effect.sync(() => {
      execFileSync("mkfifo", [join(root, "fifo")])
      return join(root, "fifo")
    })
  it.effect.each([["and holds its output", ""], ["and its output", "> /dev/null 2>&1"]])(
    "a process that left its group %s is ended and reported",
    ([, redirection]) =>
      Effect.gen(function*() {
        const root = yield* sandbox()
        const script = `(${leaving} ${redirection}) & read pid < "$1"; echo $pid`
        const { note, output } = yield* run(root, sh(script, yield* fifoIn(root)))
        assert.strictEqual(note, "Processes that it left running were ended.")
        assert.isFalse(isAlive(Number(output)))
      })
  )

  it.effect("a process that left its group and its environment is not waited for, but named as left behind", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const script = `(${vanishing}) & read pid < "$1"; echo $pid`
      const left: Array<string> = []
      const { note, output } = yield* run(root, sh(script, yield* fifoIn(root))).pipe(naming(left))
      yield* killed(Number(output))
      assert.isTrue(isAlive(Number(output)))
      assert.strictEqual(
        note,
        "A process that left its process group holds the output open and could not be ended."
      )
      assert.deepStrictEqual(left, ["process of run_command"])
    }))

  it.effect("a dead process that its parent never reaps does not hold it up", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      // The dead one's parent has left the group and is no longer a shell by then, so that nobody reaps it.
      const dying = `mkfifo gate; (exec > /dev/null 2>&1; : > gate & ${vanishing}) & read pid < "$1"; cat gate`
      const script = `${dying}; echo $pid`
      const { note, output } = yield* run(root, sh(script, yield* fifoIn(root)))
      yield* killed(Number(output))
      assert.isUndefined(note)
    }))
})

describe("when the process that started it", () => {
  const parent = Effect.fnUntraced(function*(path: string) {
    const script = fileURLToPath(new URL("./GroupProcess.ts", import.meta.url))
    return yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [script, path], { stdio: ["pipe", "ignore", "inherit"] })),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
  })

  it.effect("exits at once, its processes are killed", () =>
    Effect.gen(function*() {
      const { line, path, released } = yield* beacon
      const child = yield* parent(path)
      const [group] = pids(yield* line)
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.try(() => process.kill(-group!, "SIGKILL"))))
      child.stdin.end()
      yield* released
    }))
})
