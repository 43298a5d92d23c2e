/**
 * The process that dies: `CrashSweep` starts it with a module, one of its subjects, a place, and the point of its death.
 */
import * as Effect from "effect/Effect"
import { enableCompileCache, flushCompileCache } from "node:module"
import * as CrashPoints from "./CrashPoints.ts"
import type { Place, Subjects } from "./Subject.ts"
import * as UserModule from "./UserModule.ts"

// hundreds of processes load the same modules
enableCompileCache()

const [module = "", name = "", given = "", at = ""] = process.argv.slice(2)

const { subjects } = await UserModule.load<{ readonly subjects: Subjects }>(module)
// compiled code that is not flushed is lost when the process is killed
flushCompileCache()
const place = JSON.parse(given) as Place
const subject = subjects[name]!(place)

const onPoint: CrashPoints.OnPoint = (n, what, confirmed) => {
  if (n < Number(at)) return
  process.stderr.write(CrashPoints.lastWords({ point: `${n}, ${what}`, confirmed: confirmed(place.sessionId) }))
  process.kill(process.pid, "SIGKILL")
  // not a step further, however long the signal takes
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

await Effect.runPromise(subject.use(subject.play, (below) => CrashPoints.layer(below, onPoint)))
