/** Every scenario on stores in memory that are instances of classes, as are their sessions. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ClassStore from "../support/ClassStore.ts"
import * as Subjects from "./Subjects.ts"

/** The sessions outlive the layer, as a database would. */
export const subjects = Subjects.make(() => Layer.succeed(SessionStore.SessionStore, Effect.runSync(ClassStore.make)))
