/** fiberloop on a bare `Model` with each of its stores, and on a `LanguageModel`; its events are read to the end. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { Agent, Fiberloop, Model, ModelLanguageModel } from "../../src/index.ts"
import { type Contender, heard, type Script, type Tally } from "../harness/Contender.ts"
import * as Source from "./Source.ts"
import * as Stores from "./Stores.ts"
import * as Tools from "./Tools.ts"

type Models = (script: Script, tally: Tally) => Layer.Layer<Model> | Promise<Layer.Layer<Model>>

export const scripted: Models = (script, tally) =>
  Layer.succeedContext(Context.make(Model, Source.model(script, tally)))

export const contender = (name: string, models: Models, openStore: Stores.Open = Stores.memory): Contender => ({
  name,
  open: async (script, tally) => {
    const store = await openStore()
    const services = (model: Layer.Layer<Model>) =>
      Layer.mergeAll(
        Layer.provideMerge(model, Fiberloop.layer),
        Tools.toolkit.toLayer({ double: Source.handler(script, tally) })
      )
    const runtime = ManagedRuntime.make(Layer.mergeAll(services(await models(script, tally)), store.layer))
    const make = Agent.make({
      instructions: "",
      toolkit: Tools.toolkit,
      limits: { maxTurns: Infinity },
      toolPolicy: { maxParallel: script.parallel }
    })
    const agent = await runtime.runPromise(make)
    let sessions = 0
    let last: string | undefined

    /** Removes the session before this one, as a peer's conversation would be garbage by now; the last may be reopened. */
    const forgetBefore = (sessionId: string) =>
      Effect.suspend(() => {
        const before = last
        last = sessionId
        return before === undefined || store.forget === undefined ? Effect.void : store.forget(before)
      })

    const run = (signal?: AbortSignal) => {
      const sessionId = `session${sessions++}`
      return runtime.runPromise(
        agent.stream({ sessionId, input: "go" }).pipe(
          Stream.runForEachArray((events) =>
            Effect.sync(() => {
              for (const event of events) {
                if (event._tag === "TextDelta") {
                  heard(tally, event.delta)
                } else if (event._tag === "ToolSettled" && event.outcome._tag === "Succeeded") tally.results++
              }
            })
          ),
          Effect.andThen(forgetBefore(sessionId))
        ),
        { signal }
      )
    }

    /** Goes on to the first request of the next message, whose model then never answers. */
    const reopen = async () => {
      const again = await store.again()
      const stop = new AbortController()
      let running: Promise<unknown> | undefined
      const asked = new Promise<number>((resolve) => {
        const model: Model["Service"] = {
          info: { provider: "bench", name: "bench" },
          stream: ({ messages }) => Stream.fromEffectDrain(Effect.sync(() => resolve(messages.length)))
        }
        const next = Effect.flatMap(
          make,
          (agent) => agent.run({ sessionId: `session${sessions - 1}`, input: "and now?" })
        )
        running = Effect.runPromiseExit(
          Effect.provide(next, Layer.mergeAll(services(Layer.succeedContext(Context.make(Model, model))), again)),
          { signal: stop.signal }
        )
      })
      const messages = await asked
      const end = async () => {
        stop.abort()
        await running
      }
      // without two messages of the user and the answer without calls
      return { results: (messages - 3) / 2, end }
    }
    return {
      run,
      reopen,
      bytes: () => store.bytes(`session${sessions - 1}`),
      ...(store.bytesOf === undefined ? {} : { bytesOf: store.bytesOf }),
      close: async () => {
        await runtime.dispose()
        await store.remove()
      }
    }
  }
})

export const contenders: ReadonlyArray<Contender> = [
  contender("fiberloop", scripted),
  contender("fiberloop, SQLite os", scripted, Stores.sqlite("os")),
  contender("fiberloop, SQLite fsync", scripted, Stores.sqlite("fsync")),
  contender("fiberloop, Postgres", scripted, Stores.postgres),
  contender(
    "fiberloop, LanguageModel",
    async (script, tally) => {
      const LanguageModels = await import("./LanguageModels.ts")
      return Layer.provide(ModelLanguageModel.layer, LanguageModels.layer(script, tally))
    }
  )
]
