import { assert, it } from "@effect/vitest"
import { Effect, Layer, Ref, Stream } from "effect"
import { type Message, RunEvent, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { Game, GameMaster, GameMasterLive } from "./bosses.ts"

const ice = { id: "main-1", element: "ice", spawn: { x: 3, y: 4 } } as const
const storm = { id: "main-2", element: "storm", spawn: null } as const
const main = { name: "main", size: { x: 10, y: 10 }, bosses: [ice, storm] }
const fire = { id: "main-3", element: "fire", spawn: null } as const
const { call, text } = ScriptedModel

/** A whole conversation: the calls and their outcomes, what the model read, and the final state of the world. */
const conversation = (input: string, ...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.gen(function*() {
    const events = yield* Stream.runCollect((yield* GameMaster).stream({ input }))
    const requests = yield* (yield* ScriptedModel.Script).requests
    const end = events.at(-1)
    return {
      calls: events.flatMap((event) => event._tag === "ToolStarted" ? [[event.tool, event.params]] : []),
      outcomes: events.flatMap((event) => event._tag === "ToolSettled" ? [event.outcome] : []),
      read: requests.map(({ messages }) => plain(messages.at(-1)!)),
      end: end !== undefined && RunEvent.isEnd(end) && [end._tag, end.totals.turns, end.totals.toolCalls],
      worlds: yield* Ref.get(yield* Game)
    }
  }).pipe(Effect.provide(GameMasterLive.pipe(
    Layer.provideMerge([Game.layer([main]), SessionStoreMemory.layer, ScriptedModel.layer(turns)])
  )))

/** A user's words, or the first result of a round: its tool, whether it failed, what it says. */
const plain = ({ content, role }: Message.Message) => {
  if (role === "user") return content.map((part) => part.type === "text" ? part.text : part.type).join()
  if (role === "tool") return [content[0]?.name, content[0]?.isFailure ? "failed" : "ok", content[0]?.result]
  return role
}

it.effect("how many bosses has world main? One query, one answer", () =>
  Effect.gen(function*() {
    const input = "how many bosses has world main?"
    const seen = yield* conversation(input, call("find_world", { name: "main" }), text("World main has two bosses."))
    assert.deepStrictEqual(seen.calls, [["find_world", { name: "main" }]])
    assert.deepStrictEqual(seen.outcomes, [{ _tag: "Succeeded", result: main }])
    assert.deepStrictEqual(seen.read, [input, ["find_world", "ok", main]])
    assert.deepStrictEqual(seen.end, ["RunCompleted", 2, 1])
    assert.deepStrictEqual(seen.worlds, [main])
  }))

it.effect("create a fire boss and set its spawn point: each step uses the result of the one before", () =>
  Effect.gen(function*() {
    const input = "create a fire boss and set its spawn point"
    const seen = yield* conversation(
      input,
      call("find_world", { name: "main" }),
      call("create_boss", { world: "main", element: "fire" }),
      call("set_spawn_point", { bossId: "main-3", at: { x: 5, y: 6 } }),
      text("The fire boss main-3 appears at 5, 6.")
    )
    const placed = { ...fire, spawn: { x: 5, y: 6 } }
    assert.deepStrictEqual(seen.calls, [
      ["find_world", { name: "main" }],
      ["create_boss", { world: "main", element: "fire" }],
      ["set_spawn_point", { bossId: "main-3", at: { x: 5, y: 6 } }]
    ])
    assert.deepStrictEqual(seen.outcomes, [main, fire, placed].map((result) => ({ _tag: "Succeeded", result })))
    assert.deepStrictEqual(seen.read, [
      input,
      ["find_world", "ok", main],
      ["create_boss", "ok", fire],
      ["set_spawn_point", "ok", placed]
    ])
    assert.deepStrictEqual(seen.end, ["RunCompleted", 4, 3])
    assert.deepStrictEqual(seen.worlds, [{ ...main, bosses: [ice, storm, placed] }])
  }))

it.effect("a step that fails changes nothing, and the model reads why", () =>
  Effect.gen(function*() {
    const seen = yield* conversation(
      "move the storm boss to the corner",
      [
        call("set_spawn_point", { bossId: "main-2", at: { x: 10, y: 9 } }),
        call("set_spawn_point", { bossId: "main-2", at: { x: 9, y: 10 } })
      ],
      call("create_boss", { world: "main", element: "mud" }),
      text("I could not.")
    )
    const why = { _tag: "NotPossible", why: "the world ends at 9, 9" }
    assert.deepStrictEqual(seen.outcomes.map(({ _tag }) => _tag), ["Failed", "Failed", "InvalidArguments"])
    assert.deepStrictEqual(seen.read[1], ["set_spawn_point", "failed", why])
    assert.match(JSON.stringify(seen.read[2]), /Invalid arguments: .*fire.*ice.*storm/)
    assert.deepStrictEqual(seen.worlds, [main])
  }))
