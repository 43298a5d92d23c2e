/** Starts a process group that ignores SIGTERM and a process that left it; exits, ending neither, when input ends. */
import { Effect } from "effect"
import * as OutputPipe from "../../../../src/cli/tools/command/OutputPipe.ts"
import * as ProcessGroup from "../../../../src/cli/tools/command/ProcessGroup.ts"

const [beacon] = process.argv.slice(2)
const script = `trap '' TERM; exec 3> "$1"; mkfifo "$1.gate"; sleep 1000 &
  setsid sh -c 'echo $1 >&3; : < "$2"' sh $$ "$1.gate" & wait`

Effect.runFork(Effect.scoped(Effect.gen(function*() {
  const pipe = yield* OutputPipe.make(() => {})
  const command = ["sh", "-c", script, "sh", beacon!] as const
  yield* ProcessGroup.start({ command, cwd: "/", env: { PATH: process.env.PATH! }, output: pipe.writeEnd })
  yield* Effect.never
})))

process.stdin.resume().on("end", () => process.exit(0))
