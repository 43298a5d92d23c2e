/**
 * The loop of reasoning and acting on a tiny game world: the model looks things up, changes them in typed steps, reads the
 * result of each and goes on until it can answer. Tools that only look are `Tool.Readonly`, so they may run again after a crash;
 * the others declare how they fail, and the model reads that too. The test checks whole conversations.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then
 * `node examples/bosses.ts "create a fire boss in world main and set its spawn point"`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Context, Effect, Layer, Ref, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, SessionStoreMemory } from "fiberloop"

export const Element = Schema.Literals(["fire", "ice", "storm"])
export const Point = Schema.Struct({ x: Schema.Int, y: Schema.Int })
export const Boss = Schema.Struct({ id: Schema.String, element: Element, spawn: Schema.NullOr(Point) })
export const World = Schema.Struct({ name: Schema.String, size: Point, bosses: Schema.Array(Boss) })

/** The state of the game; in your application a database. */
export class Game extends Context.Service<Game, Ref.Ref<ReadonlyArray<typeof World.Type>>>()("bosses/Game") {
  static readonly layer = (worlds: ReadonlyArray<typeof World.Type>) => Layer.effect(Game, Ref.make(worlds))
}

export class NotPossible extends Schema.TaggedClass<NotPossible>()("NotPossible", { why: Schema.String }) {}

const change = { success: Boss, failure: NotPossible }

export const Bosses = Toolkit.make(
  Tool.make("find_world", {
    description: "A world by name, with its size and its bosses",
    parameters: Schema.Struct({ name: Schema.String }),
    success: World,
    failure: NotPossible
  }).annotate(Tool.Readonly, true),
  Tool.make("create_boss", {
    ...change,
    description: "Creates a boss, which appears once it has a spawn point",
    parameters: Schema.Struct({ world: Schema.String, element: Element })
  }),
  Tool.make("set_spawn_point", {
    ...change,
    description: "Sets where a boss appears, within the size of its world",
    parameters: Schema.Struct({ bossId: Schema.String, at: Point })
  }).annotate(Tool.Idempotent, true)
)

export const BossesLive = Bosses.toLayer(Effect.gen(function*() {
  const game = yield* Game
  const find = Effect.fnUntraced(function*(why: string, is: (world: typeof World.Type) => boolean) {
    const world = (yield* Ref.get(game)).find(is)
    return world ?? (yield* Effect.fail(new NotPossible({ why })))
  })
  /** Puts the boss in its world, replacing the one with its id. */
  const put = (name: string, boss: typeof Boss.Type) =>
    Ref.update(game, (worlds) =>
      worlds.map((world) => {
        const others = world.bosses.filter(({ id }) => id !== boss.id)
        return world.name === name ? { ...world, bosses: [...others, boss] } : world
      })).pipe(Effect.as(boss))

  return {
    find_world: ({ name }) => find(`there is no world "${name}"`, (world) => world.name === name),
    create_boss: Effect.fnUntraced(function*({ element, world: name }) {
      const { bosses } = yield* find(`there is no world "${name}"`, (world) => world.name === name)
      return yield* put(name, { id: `${name}-${bosses.length + 1}`, element, spawn: null })
    }),
    set_spawn_point: Effect.fnUntraced(function*({ at, bossId }) {
      const world = yield* find(`there is no boss "${bossId}"`, ({ bosses }) => bosses.some(({ id }) => id === bossId))
      const { x, y } = world.size
      if (at.x < 0 || at.y < 0 || at.x >= x || at.y >= y) {
        return yield* Effect.fail(new NotPossible({ why: `the world ends at ${x - 1}, ${y - 1}` }))
      }
      return yield* put(world.name, { ...world.bosses.find(({ id }) => id === bossId)!, spawn: at })
    })
  }
}))

export class GameMaster extends Agent.Service<GameMaster>()("bosses/GameMaster", {
  instructions: "You run a game. Look a world up before you change it. Say what you did in one sentence.",
  toolkit: Bosses
}) {}

export const GameMasterLive = GameMaster.layer.pipe(Layer.provide([BossesLive, Fiberloop.layer]))

if (process.argv[1] === import.meta.filename) {
  const Live = GameMasterLive.pipe(Layer.provide([
    Game.layer([{ name: "main", size: { x: 64, y: 64 }, bosses: [{ id: "main-1", element: "ice", spawn: null }] }]),
    SessionStoreMemory.layer,
    ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
  ]))
  const input = process.argv[2] ?? "how many bosses has world main?"
  const answer = Effect.flatMap(GameMaster, (master) => master.run({ input }))
  NodeRuntime.runMain(answer.pipe(Effect.flatMap(({ text }) => Console.log(text)), Effect.provide(Live)))
}
