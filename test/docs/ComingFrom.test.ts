/** What the pages promise to those who come from other tools, where no example and no test of a part shows it. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Fiberloop, type Hook, SessionStore, SessionStoreMemory } from "../../src/index.ts"
import { ScriptedModel } from "../../src/testing/index.ts"
import * as RunLog from "../support/RunLog.ts"

const below = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns))

const logOf = (sessionId: string) => SessionStore.use((store) => Stream.runCollect(store.read(sessionId)))

const requests = Effect.flatMap(ScriptedModel.Script, (script) => script.requests)

describe("docs/coming-from.md, different by default", () => {
  const Pages = Toolkit.make(
    Tool.make("read_page", { parameters: Schema.Struct({ page: Schema.Finite }), success: Schema.String })
  )
  const PagesLive = Pages.toLayer({ read_page: ({ page }) => Effect.succeed(`This is page ${page}.`) })
  const read = (page: number) => ScriptedModel.call("read_page", { page })

  it.effect("one turn with its calls is a stopWhen that always stops; maxTurns: 1 ends before they run", () =>
    Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Read.", toolkit: Pages, stopWhen: () => true })
      const limited = yield* Agent.make({ instructions: "Read.", toolkit: Pages, limits: { maxTurns: 1 } })
      const ends = [
        yield* agent.run({ sessionId: "stopped", input: "Go." }),
        yield* limited.run({ sessionId: "limited", input: "Go." })
      ]
      assert.deepStrictEqual(ends.map(({ _tag }) => _tag), ["Completed", "Limited"])
      assert.deepStrictEqual(RunLog.outcomes(yield* logOf("stopped")), ["1.0 Succeeded"])
      assert.deepStrictEqual(RunLog.outcomes(yield* logOf("limited")), ["1.0 NotExecuted(limit)"])
      assert.lengthOf(yield* requests, 2)
    }).pipe(Effect.provide(Layer.provideMerge(PagesLive, below(read(1), read(1))))))

  it.effect("messages that a hook leaves out of one model call are in the next one again", () =>
    Effect.gen(function*() {
      const prunes: Hook = {
        name: "prunes",
        beforeModelCall: ({ messages, turn }) =>
          Effect.succeed(turn === 3 ? { messages: [...messages.slice(0, 2), ...messages.slice(-2)] } : {})
      }
      const agent = yield* Agent.make({ instructions: "Read.", toolkit: Pages, hooks: [prunes] })
      yield* agent.run({ input: "Go." })
      assert.deepStrictEqual((yield* requests).map(({ messages }) => messages.length), [2, 4, 4, 8])
    }).pipe(Effect.provide(Layer.provideMerge(PagesLive, below(read(1), read(2), read(3), ScriptedModel.text("x"))))))
})
