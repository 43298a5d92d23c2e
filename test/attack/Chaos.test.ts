/** Processes that do everything at once to a few sessions, and are killed, stopped and shut down meanwhile. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as SqliteStores from "../support/SqliteStores.ts"
import * as AttackAgent from "./AttackAgent.ts"
import * as Attackers from "./Attackers.ts"

const dice = (seed: number) => {
  let state = seed * 2654435761 >>> 0
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return {
    int: (n: number) => Math.floor(next() * n),
    pick: <A>(of: ReadonlyArray<A>): A => of[Math.floor(next() * of.length)]!,
    chance: (p: number) => next() < p
  }
}

const plans = [
  Attackers.plan([{ tool: "pay" }, { tool: "put" }], [{ tool: "pay" }]),
  Attackers.plan([{ tool: "put", wait: "g" }, { tool: "pay", n: 2 }]),
  Attackers.plan([{ tool: "pay", wait: "g" }], [{ tool: "put" }]),
  Attackers.plan([{ tool: "refund" }, { tool: "pay" }, { tool: "refund", n: 2 }]),
  Attackers.plan([{ tool: "delegate", plan: [[{ tool: "refund" }], [{ tool: "pay" }]] }, { tool: "pay" }]),
  Attackers.plan([{ tool: "hire", plan: [[{ tool: "put", wait: "g" }], [{ tool: "refund" }]] }]),
  Attackers.plan({ gate: "g" }, [{ tool: "pay" }]),
  Attackers.plan("overloaded"),
  "hello"
]

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"
const seeds = (process.env["CHAOS_SEEDS"] ?? "1,2,3,4,5,6,7,8").split(",").map(Number)
const rounds = Number(process.env["CHAOS_ROUNDS"] ?? 120)

for (const seed of seeds) {
  it.live.runIf(isWhole)(
    `whatever processes do to sessions at once, logs stay legal and nothing is done twice (${seed})`,
    () =>
      Effect.gen(function*() {
        const die = dice(seed)
        const folder = yield* temporaryFolder
        const lease = 1200
        const make = (i: number) => Attackers.start({ folder, lease, ...(i < 2 ? { recoverEvery: 300 } : {}) })
        const alive = yield* Effect.forEach([0, 1, 2], make)
        const history: Array<string> = []
        const broken: Array<unknown> = []
        const answers: Array<Effect.Effect<Attackers.Told>> = []
        const watch = (a: Attackers.Attacker) => {
          for (const what of a.all) {
            if ("broken" in what && what["broken"] !== "interrupted") broken.push(what)
            if (what["at"] === "dead") broken.push(what)
            if (what["error"] === "Unknown" || what["error"] === "StoreRefused") broken.push(what)
          }
        }
        let copies = 0
        const approved = new Set<string>()
        for (let round = 0; round < rounds; round++) {
          const i = die.int(alive.length)
          const a = alive[i]!
          const sessionId = die.chance(0.1) && copies > 0 ? `copy-${1 + die.int(copies)}` : `s${die.int(3)}`
          const what = die.int(20)
          const send = (command: Parameters<typeof a.send>[0]) =>
            Effect.map(a.send(command), ({ answer }) => void answers.push(answer))
          history.push(`${i} ${what} ${sessionId}`)
          if (what < 6) yield* send({ do: "run", input: { sessionId, input: die.pick(plans) } })
          else if (what < 8) yield* send({ do: "resume", input: { sessionId } })
          else if (what < 11) {
            const rows = yield* Effect.sync(() =>
              SqliteStores.sqlOn(join(folder, "sessions.db"), (db) =>
                db.prepare(
                  "SELECT id, body FROM fiberloop_log JOIN fiberloop_sessions USING (session) WHERE type = 'ApprovalRequested' ORDER BY at DESC LIMIT 4"
                ).all())
            )
            if (rows.length > 0) {
              const { id, body } = die.pick(rows) as { id: string; body: string }
              const input = {
                sessionId: id,
                approvalId: JSON.parse(body).approvalId as string,
                approved: die.chance(0.7)
              }
              const asked = input.approvalId.split(":")[0]!
              // the key of a run whose id is its session's names both once
              const key = asked.startsWith(`${id}/`) ? `${id}/${asked.slice(id.length)}` : `${id}/${asked}`
              if (input.approved) approved.add(`refund ${key}`)
              yield* send({ do: "decide", input })
            }
          } else if (what < 12) yield* send({ do: "abort", sessionId })
          else if (what < 13) yield* send({ do: "compact", sessionId })
          else if (what < 14) yield* send({ do: "steer", sessionId, text: "steered" })
          else if (what < 15) yield* send({ do: "fork", sessionId, to: `copy-${++copies}` })
          else if (what < 16) {
            yield* send(die.chance(0.3) ? { do: "remove", sessionId } : { do: "recover", input: { answered: true } })
          } else if (what < 17) {
            yield* a.send({ do: "go", name: die.pick(["g", "compact"]) })
          } else if (what < 18) {
            yield* a.kill
            watch(a)
            alive[i] = yield* make(i)
          } else if (what < 19) {
            yield* a.signal("SIGSTOP")
            yield* Effect.sleep(die.chance(0.5) ? 1500 : 50)
            yield* a.signal("SIGCONT")
          } else if (die.chance(0.5)) {
            yield* a.signal("SIGTERM")
            yield* Effect.timeoutOption(a.ended, "30 seconds")
            watch(a)
            alive[i] = yield* make(i)
          }
          yield* Effect.sleep(die.int(40))
        }
        for (const a of alive) {
          yield* a.send({ do: "go", name: "g" })
          yield* a.send({ do: "go", name: "compact" })
        }
        yield* Effect.sleep(300)
        for (const a of alive) {
          yield* a.kill
          watch(a)
        }
        const last = yield* Attackers.start({ folder, lease })
        yield* last.send({ do: "go", name: "g" })
        yield* last.send({ do: "go", name: "compact" })
        const sessions = yield* Effect.sync(() =>
          SqliteStores.sqlOn(
            join(folder, "sessions.db"),
            (db) => db.prepare("SELECT id FROM fiberloop_sessions_now WHERE head > 0").all().map(({ id }) => String(id))
          )
        )
        const problems: Array<string> = []
        for (const sessionId of sessions) {
          const before = yield* Attackers.logOf(folder, sessionId)
          const wrong = RunLog.violations(before).filter((violation) => violation !== "the last drive has no end")
          for (const violation of wrong) problems.push(`${sessionId}: ${violation}`)
          if (wrong.length > 0) {
            console.log(
              before.map((e) => {
                return `${e.seq} ${e._tag} ${e.runId.slice(-6)} ${JSON.stringify(e).slice(0, 360)}`
              }).join("\n")
            )
          }
          const said = yield* last.ask({ do: "run", input: { sessionId, input: "hello" } })
          if (said["ok"] !== "Completed: done") problems.push(`${sessionId}: ${JSON.stringify(said)}`)
          const log = yield* Attackers.logOf(folder, sessionId)
          for (const violation of RunLog.violations(log)) problems.push(`${sessionId} after: ${violation}`)
          const info = yield* Attackers.infoOf(folder, sessionId)
          const expected = log.reduce(SessionStore.evolveInfo, SessionStore.newInfo(sessionId, info?.createdAt ?? 0))
          const facts = (known: SessionStore.SessionInfo | undefined) =>
            JSON.stringify([known?.head, known?.turns, known?.end, known?.title])
          if (facts(info) !== facts(expected)) {
            problems.push(`${sessionId}: listed as ${facts(info)}, is ${facts(expected)}`)
          }
          const calls = new Map<string, number>()
          for (const event of log) {
            if (event._tag === "ToolSettled") {
              const key = `${event.runId} ${event.callId}`
              calls.set(key, (calls.get(key) ?? 0) + 1)
            }
          }
          for (const [key, n] of calls) if (n !== 1) problems.push(`${sessionId}: ${key} settled ${n} times`)
        }
        const tries = AttackAgent.effects(folder)
        if (new Set(tries).size !== tries.length) problems.push("two tries have the same number")
        const done = new Map<string, number>()
        for (const line of AttackAgent.effects(folder)) {
          const [tool, key] = line.split(" ")
          done.set(`${tool} ${key}`, (done.get(`${tool} ${key}`) ?? 0) + 1)
        }
        for (const [key, n] of done) if (n > 1 && !key.startsWith("put ")) problems.push(`${key} ran ${n} times`)
        for (const key of done.keys()) {
          if (key.startsWith("refund ") && !approved.has(key)) problems.push(`${key} was not allowed`)
        }
        watch(last)
        const tally: Record<string, number> = {}
        for (const a of [...alive, last]) {
          for (const what of a.all) {
            if ("error" in what) tally[String(what["error"])] = (tally[String(what["error"])] ?? 0) + 1
          }
        }
        console.log(`seed ${seed}: ${sessions.length} sessions, ${done.size} effects`, tally)
        if (problems.length + broken.length > 0) console.log(problems, broken.slice(0, 5), history.slice(-30))
        assert.deepStrictEqual(problems, [])
        assert.deepStrictEqual(broken, [])
      }),
    300_000
  )
}
