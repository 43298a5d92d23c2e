/** The command's agent for commands that start no run: it knows its tools, and its model is never asked. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Client } from "../../Client.ts"
import * as Fiberloop from "../../Fiberloop.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as OfflineModel from "../offline/OfflineModel.ts"
import { badInput, type Refusal } from "../Refusal.ts"
import type { Settings } from "../Settings.ts"
import * as ShownFiles from "../tools/write/ShownFiles.ts"
import * as CliAgent from "./CliAgent.ts"

export const make = Effect.fnUntraced(function*(
  { root }: Pick<Settings, "root">,
  store: SessionStore.Store
): Effect.fn.Return<Client<string>, Refusal, Scope.Scope> {
  const below = Layer.mergeAll(
    CliAgent.handlers(root, ShownFiles.make()),
    OfflineModel.layer,
    Fiberloop.layer,
    Layer.succeed(SessionStore.SessionStore, store)
  )
  const built = yield* Layer.build(Layer.provide(CliAgent.writing(""), below)).pipe(
    Effect.mapError((error: { readonly message: string }) => badInput(error.message))
  )
  return Context.get(built, CliAgent.CliAgent)
})
