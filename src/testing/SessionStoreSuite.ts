/**
 * What every session store must do, as tests for vitest: `suite(name, layer)` in a test file declares them. Each test
 * builds the layer anew, with steps of its own as `Migrations`, and expects it to be empty.
 *
 * Does not own what only some stores have: files, processes, connections.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Migrations } from "../services/Migrations.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import { abortsAsked } from "./sessions/AbortsAsked.ts"
import { appends } from "./sessions/Appends.ts"
import { closing } from "./sessions/Closing.ts"
import { creation } from "./sessions/Creation.ts"
import { forkCopies } from "./sessions/ForkCopies.ts"
import { forkedRuns } from "./sessions/ForkedRuns.ts"
import { forkLists } from "./sessions/ForkLists.ts"
import { forkRefusals } from "./sessions/ForkRefusals.ts"
import { landmarks } from "./sessions/Landmarks.ts"
import { listing } from "./sessions/Listing.ts"
import { parents } from "./sessions/Parents.ts"
import { prefixes } from "./sessions/Prefixes.ts"
import { reading } from "./sessions/Reading.ts"
import { removal } from "./sessions/Removal.ts"
import { sent } from "./sessions/Sent.ts"
import * as TestRunner from "./sessions/TestRunner.ts"
import * as Versions from "./sessions/Versions.ts"
import { watching } from "./sessions/Watching.ts"
import { writers } from "./sessions/Writers.ts"

const parts = [
  creation,
  appends,
  writers,
  abortsAsked,
  sent,
  reading,
  Versions.versions,
  landmarks,
  watching,
  listing,
  parents,
  prefixes,
  removal,
  forkCopies,
  forkedRuns,
  forkRefusals,
  forkLists
]

/** Declares the tests under `name`; needs vitest and @effect/vitest, and throws elsewhere. */
export const suite = <E>(name: string, layer: Layer.Layer<SessionStore.SessionStore, E>): void => {
  TestRunner.load()
  const test: TestRunner.Test = (claim, body) =>
    TestRunner.it.effect(
      claim,
      () => Effect.scoped(body).pipe(Effect.provide(layer), Effect.provideService(Migrations, Versions.steps))
    )
  for (const part of parts) part(name, test)
  closing(name, layer)
}
