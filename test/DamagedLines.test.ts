/** However an export from elsewhere is damaged, it is refused in words or becomes a session like any other. */
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as SessionStoreMemory from "../src/layers/SessionStoreMemory.ts"
import type * as RunError from "../src/run/RunError.ts"
import * as SessionStore from "../src/services/SessionStore.ts"
import * as SessionLines from "../src/SessionLines.ts"
import * as ScriptedModel from "../src/testing/ScriptedModel.ts"
import * as Invoke from "./cli/Invoke.ts"
import { sandbox } from "./cli/tools/files/Sandbox.ts"
import * as GoldenSession from "./golden/GoldenSession.ts"
import * as Damage from "./support/Damage.ts"
import * as Logs from "./support/Logs.ts"
import * as TestAgent from "./support/TestAgent.ts"
import * as TestStore from "./support/TestStore.ts"

/** Any golden one; the one whose reading begins in the middle comes up as often as all the others together. */
const sessionOf = (seed: number) =>
  GoldenSession.all.find(({ name }) => seed % 2 === 0 && name.endsWith("compaction")) ??
    GoldenSession.all[seed % GoldenSession.all.length]!

const importing = (store: SessionStore.Store, lines: ReadonlyArray<string>) =>
  Effect.provideService(SessionLines.fromLines(Stream.fromIterable(lines)), SessionStore.SessionStore, store)

/** It succeeds, or fails with an error that its type names, other than that of a defect. */
const isTold = <A>(what: string, effect: Effect.Effect<A, RunError.RunError | SessionStore.StoreError>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return exit.value
    assert.isFalse(Cause.hasDies(exit.cause) || Cause.hasInterrupts(exit.cause), `${what}: ${Cause.pretty(exit.cause)}`)
    assert.notInclude(Cause.pretty(exit.cause), "defect", what)
    return undefined
  })

it.effect.prop(
  "a damaged export is refused, or its session can be answered, decided, resumed, compacted and exported again",
  [Logs.seed],
  ([seed]) =>
    Effect.gen(function*() {
      const { lines, what } = Damage.of(sessionOf(seed).lines, seed)
      const store = yield* SessionStoreMemory.make
      const info = yield* isTold(what, importing(store, lines))
      if (info === undefined) return
      const { sessionId } = info
      const turns = Array.from({ length: 30 }, (_, n) => n % 2 === 0 ? TestAgent.work(n) : ScriptedModel.text("done"))
      const { agent } = yield* TestAgent.make(turns, { store: TestStore.over(store) })
      const open = (yield* isTold(what, agent.approvals(sessionId))) ?? []
      for (const { id } of open) yield* isTold(what, agent.decide({ sessionId, approvalId: id, approved: true }))
      yield* isTold(what, agent.resumeRun({ sessionId }))
      yield* isTold(what, agent.compact(sessionId))
      assert.isDefined(yield* isTold(what, agent.run({ sessionId, input: "hello" })), what)
      const read = SessionLines.toLines(sessionId).pipe(
        Stream.runCollect,
        Effect.provideService(SessionStore.SessionStore, store)
      )
      const again = yield* Effect.flatMap(SessionStoreMemory.make, (other) =>
        Effect.flatMap(read, (lines) => importing(other, lines)))
      assert.strictEqual(again.turns, (yield* store.info(sessionId))?.turns, what)
    }),
  { arbitrary: { runs: 400, seed: "damage" } }
)

const commands = ["show", "stats", "approvals", "context", "fork", "resume", "compact", "export"]

it.effect.prop(
  "the command says what is wrong with a damaged export, or shows it, forks it and continues it",
  [Logs.seed],
  ([seed]) =>
    Effect.gen(function*() {
      const { lines, what } = Damage.of(sessionOf(seed).lines, seed)
      // of the command's own agent, whatever it was before
      const own = lines.map((line) => line.replace(/(?<="agent":)"(?:[^"\\]|\\.)*"/, "\"fiberloop/cli/CliAgent\""))
      const folder = yield* sandbox({ "damaged.jsonl": own.join("\n") })
      const db = `${folder}/sessions.db`
      const saysNoBug = Effect.fnUntraced(function*(...args: ReadonlyArray<string>) {
        const { code, stderr, stdout } = yield* Invoke.invoke([...args, "--db", db])
        assert.notMatch(stderr, /this is a bug|\n\s+at |\w+Error:/, `${args[0]}: ${what}`)
        for (const control of ["\u001b", "\0"]) assert.notInclude(`${stdout}${stderr}`, control, `${args[0]}: ${what}`)
        return code
      })
      if ((yield* saysNoBug("import", `${folder}/damaged.jsonl`)) !== 0) return
      for (const command of commands) yield* saysNoBug(command, "last")
      yield* saysNoBug("show", "last", "--timeline")
      assert.strictEqual(yield* saysNoBug("run", "2+2", "--session", "last"), 0, what)
    }),
  { arbitrary: { runs: 60, seed: "damage" } }
)
