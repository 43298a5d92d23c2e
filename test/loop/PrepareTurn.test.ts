/** What an agent changes for one turn: what its model is sent, and which calls may run. */
import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Agent from "../../src/Agent.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import type * as PrepareTurn from "../../src/services/PrepareTurn.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import { unreadable } from "../support/Unreadable.ts"

const go = { sessionId: "s", runId: "r", input: "go", data: { tenant: 7 } }
type Tools = "work" | "look" | "again"
type Options = Partial<Agent.Options<typeof TestAgent.kit.tools, string>>

/** Prepares the given turns, by number. */
const changing = (changes: Record<number, PrepareTurn.Change<Tools>>): Options => ({
  prepareTurn: ({ turn }) => changes[turn]
})

const twoTurns = [TestAgent.look(1), ScriptedModel.text("done")]

const ran = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  agent: Options,
  input: Partial<Parameters<Agent.Client<string>["run"]>[0]> = {}
) {
  const made = yield* TestAgent.make(turns, { agent })
  const exit = yield* Effect.exit(made.agent.run({ ...go, ...input }))
  return { ...made, exit, log: yield* made.store.log("s"), requests: yield* made.script.requests }
})

const toolsOf = (request: { readonly tools: ReadonlyArray<{ readonly name: string }> } | undefined) =>
  request?.tools.map(({ name }) => name)

describe("a prepared turn", () => {
  it.effect("narrows the tools of that turn only", () =>
    Effect.gen(function*() {
      const { log, requests } = yield* ran(twoTurns, changing({ 1: { tools: ["look"] } }))
      assert.deepStrictEqual(requests.map(toolsOf), [["look"], ["work", "look", "again"]])
      assert.deepStrictEqual(RunLog.only(log, "TurnStarted").map(({ tools }) => tools), [["look"], undefined])
    }))

  it.effect("counts with its own instructions, and the turn after it with the run's", () =>
    Effect.gen(function*() {
      const sizes: Array<number> = []
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: ({ size }) => (sizes.push(size.fixed), ContextManager.send),
        compact: () => Effect.die("nothing is to be compacted")
      })
      const agent = changing({ 2: { instructions: "Be thorough. ".repeat(100) } })
      const made = yield* TestAgent.make([TestAgent.look(1), TestAgent.look(2), ScriptedModel.text("done")], {
        agent,
        context
      })
      yield* made.agent.run(go)
      const [first, second, third] = sizes
      assert.isAbove(second!, first! + 100)
      assert.strictEqual(third, first)
    }))

  it.effect("never offers a tool that the run may not use", () =>
    Effect.gen(function*() {
      const { requests } = yield* ran(
        [ScriptedModel.text("done")],
        changing({ 1: { tools: ["work", "look"] } }),
        { allowedTools: ["look", "again"] }
      )
      assert.deepStrictEqual(requests.map(toolsOf), [["look"]])
    }))

  it.effect("decides whether tools may or must be called", () =>
    Effect.gen(function*() {
      const { requests } = yield* ran(
        [TestAgent.look(1), TestAgent.look(2), ScriptedModel.text("done")],
        changing({ 1: { toolChoice: "required" }, 2: { toolChoice: { tool: "look" } }, 3: { toolChoice: "none" } })
      )
      assert.deepStrictEqual(requests.map(({ toolChoice }) => toolChoice), ["required", { tool: "look" }, "none"])
    }))

  it.effect("may be an object of a class, and may have fields that are undefined", () =>
    Effect.gen(function*() {
      class Only extends Data.Class<{ readonly tools: ReadonlyArray<"look">; readonly model: undefined }> {}
      const { requests } = yield* ran([ScriptedModel.text("done")], {
        prepareTurn: () => new Only({ tools: ["look"], model: undefined })
      })
      assert.deepStrictEqual(requests.map(toolsOf), [["look"]])
    }))

  it.effect("without tools tells the model that it has none", () =>
    Effect.gen(function*() {
      const { requests } = yield* ran([ScriptedModel.text("done")], changing({ 1: { tools: [] } }))
      assert.deepStrictEqual(requests.map(({ toolChoice, tools }) => [toolChoice, tools]), [["none", []]])
    }))

  it.effect("replaces the instructions, but keeps what the output schema asks for", () =>
    Effect.gen(function*() {
      const { requests } = yield* ran([TestAgent.look(1), ScriptedModel.text("{\"n\":1}")], {
        output: Schema.Struct({ n: Schema.Finite }) as never,
        ...changing({ 1: { instructions: "Be rude." } })
      })
      const systems = requests.map(({ messages }) => messages[0]?.role === "system" ? messages[0].content : "")
      assert.match(systems[0]!, /^Be rude\.\n\nGive your final answer as JSON/)
      assert.match(systems[1]!, /^Be brief\.\n\nGive your final answer as JSON/)
    }))

  it.effect("has a digest of what it is sent, and other turns keep theirs", () =>
    Effect.gen(function*() {
      const turns = [1, 2, 3, 4].map((n) => TestAgent.look(n))
      const { log } = yield* ran(
        [...turns, ScriptedModel.text("done")],
        changing({
          1: { tools: ["look"] },
          2: { instructions: "Be rude." },
          3: { toolChoice: "required" },
          4: {}
        })
      )
      const plain = yield* ran([ScriptedModel.text("done")], {})
      const digests = RunLog.only(log, "TurnStarted").map(({ inputDigest }) => inputDigest)
      const usual = RunLog.only(plain.log, "TurnStarted")[0]?.inputDigest
      assert.deepStrictEqual(digests.slice(3), [usual, usual])
      assert.strictEqual(new Set(digests).size, 4)
    }))

  it.effect("is given its number, what was used up, the data, and what is to be answered", () =>
    Effect.gen(function*() {
      const seen: Array<PrepareTurn.Turn> = []
      yield* ran(twoTurns, {
        prepareTurn: (turn) => {
          seen.push(turn)
        }
      })
      assert.deepStrictEqual(seen.map(({ turn }) => turn), [1, 2])
      assert.deepStrictEqual(seen.map(({ totals }) => totals.toolCalls), [0, 1])
      assert.deepStrictEqual(seen.map(({ last }) => last?.role), ["user", "tool"])
      assert.deepStrictEqual([seen[0]?.sessionId, seen[0]?.runId, seen[0]?.data], ["s", "r", { tenant: 7 }])
    }))

  it.effect("is given what steers it", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { gate, run } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")], {
        agent: {
          prepareTurn: ({ last }) => {
            seen.push(JSON.stringify(last?.content))
          }
        }
      })
      yield* Steering.say(run, "steer", "shorter")
      yield* gate.release
      yield* run.result
      assert.match(seen[1]!, /shorter/)
    }))

  it.effect("may take its time without delaying what is settled", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<PrepareTurn.Change<Tools>>()
      const { agent, script, store } = yield* TestAgent.make(twoTurns, {
        agent: {
          prepareTurn: ({ turn }) =>
            turn === 1 ? undefined : Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(answer))
        }
      })
      const run = yield* agent.start(go)
      yield* Deferred.await(asked)
      assert.strictEqual((yield* store.log("s")).at(-1)?._tag, "TurnFinished")
      yield* Deferred.succeed(answer, { tools: ["again"] })
      yield* run.result
      assert.deepStrictEqual((yield* script.requests).map(toolsOf), [["work", "look", "again"], ["again"]])
    }))
})

describe("a call of a tool that its turn was not offered", () => {
  it.effect("is a call of an unknown tool, and does not run", () =>
    Effect.gen(function*() {
      const { log } = yield* ran([[TestAgent.work(1, "a"), TestAgent.look(2, "b")], ScriptedModel.text("done")], {
        ...changing({ 1: { tools: ["look"] } }),
        toolPolicy: { maxParallel: 2 }
      })
      assert.deepStrictEqual(RunLog.outcomes(log).toSorted(), ["1.0 UnknownTool", "1.1 Succeeded"])
      const [settled] = RunLog.only(log, "ToolSettled").filter(({ callId }) => callId === "1.0")
      assert.deepStrictEqual(settled?.outcome, { _tag: "UnknownTool", available: ["look"] })
    }))

  it.effect("is still one for a drive that takes up the round after a crash", () =>
    Effect.gen(function*() {
      const calls = [TestAgent.look(1, "a"), TestAgent.work(2, "b"), TestAgent.look(3, "c")]
      const agent = changing({ 1: { tools: ["look"] } })
      const { store } = yield* ran([calls, ScriptedModel.text("done")], agent)
      const n = store.appends.findIndex((events) => events.some(({ _tag }) => _tag === "ToolStarted"))
      const dead = yield* Steering.left(store.appends.slice(0, n + 1))
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store: dead })
      yield* Stream.runDrain(later.agent.resume({ sessionId: "s" }))
      const log = yield* dead.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 UnknownTool", "1.2 Succeeded"])
      assert.deepStrictEqual((yield* later.script.requests).map(toolsOf), [["work", "look", "again"]])
    }))
})

describe("prepareTurn that breaks ends the run, with nothing sent:", () => {
  const broken: Record<string, Options["prepareTurn"]> = {
    "throwing": () => {
      throw new Error("bug")
    },
    "failing": () => Effect.fail("no"),
    "interrupting itself": () => Effect.interrupt,
    "returning a promise": () => Promise.resolve({ tools: [] }) as never,
    "returning a string": () => Effect.succeed("none" as never),
    "returning tools that are not a list": () => ({ tools: "look" as never }),
    "returning instructions that are not a string": () => ({ instructions: 5 as never }),
    "returning a field that a change of a turn does not have": () =>
      Object.assign({ instructions: "Be rude." }, { activeTools: ["look"] }),
    "returning nothing but such a field, in an effect": () => Effect.succeed({ model: "strong" } as never),
    "returning an invalid tool choice": () => ({ toolChoice: "sometimes" as never }),
    "naming a tool the agent lacks": () => ({ tools: ["wrok" as never] }),
    "naming a property of every object": () => ({ tools: ["constructor" as never] }),
    "returning a revoked proxy": unreadable["a revoked proxy"]!,
    "returning a proxy whose traps throw, in an effect": () => Effect.sync(unreadable["a proxy whose traps throw"]!),
    "requiring a tool when none is offered": () => ({ tools: [], toolChoice: "required" }),
    "requiring a tool that is not offered": () => ({ tools: ["look"], toolChoice: { tool: "work" } })
  }
  for (const [name, prepareTurn] of Object.entries(broken)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { exit, log, requests } = yield* ran([], { prepareTurn: prepareTurn! })
        assert.strictEqual(exit._tag, "Failure")
        assert.strictEqual(RunLog.endOf(log), "RunFailed(HookBlocked)")
        assert.deepStrictEqual(requests, [])
      }))
  }

  it.effect.each<readonly [says: string, prepareTurn: Options["prepareTurn"]]>([
    ["\"wrok\" is not a tool of this agent; it has work, look", broken["naming a tool the agent lacks"]],
    [
      "the tool \"work\" must be called, but is not offered; offer it in tools, or leave toolChoice out",
      broken["requiring a tool that is not offered"]
    ],
    [
      "a change of the turn has no \"activeTools\"; it has tools, toolChoice, instructions",
      broken["returning a field that a change of a turn does not have"]
    ],
    [
      "must be \"auto\", \"none\", \"required\" or { tool: \"<name>\" }",
      broken["returning an invalid tool choice"]
    ]
  ])("and says what to return instead: %s", ([says, prepareTurn]) =>
    Effect.gen(function*() {
      const { log } = yield* ran([], { prepareTurn: prepareTurn! })
      assert.include(RunLog.only(log, "RunFailed")[0]?.error.reason.message, says)
    }))
})
