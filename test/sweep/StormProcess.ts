/**
 * A process that opens one session again and again among others that do the same, takes it over now and then, appends, and
 * stalls at random. Prints what was acknowledged: `ack <seq> <text>`. With `stops` it stops itself once, while it has the session: in
 * the middle of a transaction it would keep a database from everybody else, too.
 */
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { type Name, stores } from "./Stores.ts"

const [name = "", target = "", sessionId = "", rounds = "", seed = "", how = ""] = process.argv.slice(2)

/** Short, so that a process that is stopped loses the session soon. */
const liveness: OwnerLiveness.Liveness = {
  lease: Duration.millis(300),
  renewEvery: Duration.millis(100),
  isDead: OwnerLiveness.isDead
}

const stall = Effect.flatMap(Random.nextIntBetween(0, 6), (millis) => Effect.sleep(millis))

let written = 0
/** what others wait for before they let it go on: not what was refused */
let acknowledged = 0
let mayStop = how === "stops"
const notice = (seq: number): RunEvent.Durable => ({
  _tag: "NoticeAdded",
  seq,
  at: seq,
  runId: seed,
  version: RunEvent.version,
  kind: "resume",
  text: `${seed}-${++written}`
})

const append = Effect.fnUntraced(function*(session: SessionStore.Session) {
  const events = Arr.makeBy(yield* Random.nextIntBetween(1, 4), (i) => notice(session.head() + 1 + i))
  yield* session.append(events)
  for (const event of events) process.stdout.write(`ack ${event.seq} ${(event as { text: string }).text}\n`)
  acknowledged += events.length
  if (!mayStop || acknowledged < 3) return
  mayStop = false
  process.kill(process.pid, "SIGSTOP")
})

const visit = Effect.gen(function*() {
  const store = yield* SessionStore.SessionStore
  const takeOver = (yield* Random.next) < 0.2
  const session = yield* store.open(sessionId, { runId: seed, create: true, takeOver })
  for (let n = yield* Random.nextIntBetween(1, 5); n > 0; n--) {
    yield* stall
    yield* append(session)
  }
}).pipe(
  Effect.scoped,
  // busy, or taken over by another: try again next time
  Effect.catchTag(
    ["RetryableError", "NonRetryableError"],
    (error) => error.reason._tag === "SessionBusy" || error.reason._tag === "StaleWriter" ? stall : Effect.fail(error)
  )
)

const storm = Effect.gen(function*() {
  for (let n = 0; n < Number(rounds); n++) yield* visit
}).pipe(
  Effect.provide(
    stores[name as Name](target).pipe(Layer.provide(Layer.succeed(OwnerLiveness.OwnerLiveness, liveness)))
  ),
  Random.withSeed(seed)
)

await Effect.runPromise(storm)
