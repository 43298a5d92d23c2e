import { assert, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { isDead, OwnerLiveness, self } from "../../src/layers/OwnerLiveness.ts"

const owner = self("run-1")

/** see proc_pid_stat(5) */
const statOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
const startOf = (pid: number) => statOf(pid)[19]!
const stateOf = (pid: number) => statOf(pid)[0]

it("this process is alive", () => {
  assert.isFalse(isDead(owner))
})

it("a process that does not exist is dead", () => {
  assert.isTrue(isDead({ ...owner, pid: 2 ** 22 + 1 }))
})

it("a process on another machine counts as alive", () => {
  assert.isFalse(isDead({ ...owner, pid: 2 ** 22 + 1, host: "elsewhere" }))
})

it("a process of another boot counts as alive, as its machine may only have the same name", () => {
  assert.isFalse(isDead({ ...owner, pid: 2 ** 22 + 1, boot: "elsewhere" }))
})

it("a process is alive until it has ended", async () => {
  const child = spawn(process.execPath, ["-e", "process.stdin.resume()"])
  const pid = child.pid!
  const start = process.platform === "linux" ? startOf(pid) : ""
  const isAlive = !isDead({ ...owner, pid, start })
  child.stdin.end()
  await once(child, "exit")
  assert.deepStrictEqual([isAlive, isDead({ ...owner, pid, start })], [true, true])
})

it.runIf(process.platform === "linux")("another process with the same number is not the owner", () => {
  assert.isTrue(isDead({ ...owner, start: "1" }))
})

it.effect.runIf(process.platform === "linux")("a zombie is dead", () =>
  Effect.gen(function*() {
    // A process that never reaps its child.
    const script = `
      const child = require("node:child_process").spawn("true", { stdio: "ignore" })
      require("node:fs").writeSync(1, String(child.pid))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`
    const parent = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] })),
      (parent) => Effect.sync(() => parent.kill("SIGKILL"))
    )
    const [pid] = yield* Effect.promise(() => once(parent.stdout, "data"))
    const zombie = { ...owner, pid: Number(pid), start: startOf(Number(pid)) }
    // nothing tells of the end of a child that is not reaped
    while (stateOf(zombie.pid) !== "Z") yield* Effect.yieldNow
    assert.isTrue(isDead(zombie))
  }))

it.effect("a lease is of 30 seconds and renewed every 10", () =>
  Effect.gen(function*() {
    const { lease, renewEvery } = yield* OwnerLiveness
    assert.deepStrictEqual([lease, renewEvery].map(Duration.toSeconds), [30, 10])
  }))
