/** What fiberloop passes to its store during a run, write by write, as JSON. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import { SessionStore } from "../../src/services/SessionStore.ts"
import { makeTally, type Script } from "../harness/Contender.ts"
import * as Fiberloop from "./Fiberloop.ts"

export const of = async (script: Script): Promise<ReadonlyArray<string>> => {
  const writes: Array<string> = []
  const services = await Effect.runPromise(Effect.scoped(Layer.build(SessionStoreMemory.layer)))
  const memory = Context.get(services, SessionStore)
  const listening: SessionStore["Service"] = {
    ...memory,
    open: (...args) =>
      Effect.map(memory.open(...args), (session) => ({
        ...session,
        append: (events) =>
          Effect.tap(session.append(events), () => Effect.sync(() => writes.push(JSON.stringify(events))))
      }))
  }
  const layer = Layer.succeedContext(Context.make(SessionStore, listening))
  const store = async () => ({ layer, again: async () => layer, bytes: async () => 0, remove: async () => {} })
  const runner = await Fiberloop.contender("fiberloop", Fiberloop.scripted, store).open(script, makeTally())
  await runner.run()
  await runner.close?.()
  return writes
}
