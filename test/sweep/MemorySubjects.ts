/** Every scenario on stores in memory, for faults that leave the process alive. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Subjects from "./Subjects.ts"

/** The sessions outlive the layer, as a database would. */
export const subjects = Subjects.make(() =>
  Layer.succeed(SessionStore.SessionStore, Effect.runSync(SessionStoreMemory.make))
)
