/** fiberloop on a bare `Model`, its events read to the end. */
import { NodeFileSystem } from "@effect/platform-node"
import type { Layer } from "effect"
import { Effect, FileSystem, Stream } from "effect"
import { Agent, Fiberloop, type SessionStore, SessionStoreMemory, SessionStoreSqlite } from "../src/index.ts"
import { type Counts, type Scenario, timed } from "./Scenario.ts"
import * as Source from "./Source.ts"

const run = (scenario: Scenario, store: Layer.Layer<SessionStore, unknown>): Effect.Effect<Counts> =>
  Effect.gen(function*() {
    const agent = yield* Agent.make({ instructions: "", toolkit: Source.toolkit, limits: { maxTurns: Infinity } })
    let characters = 0
    let calls = 0
    yield* agent.stream({ input: "go" }).pipe(
      Stream.runForEachArray((events) =>
        Effect.sync(() => {
          for (const event of events) {
            if (event._tag === "TextDelta") characters += event.delta.length
            else if (event._tag === "ToolSettled" && event.outcome._tag === "Succeeded") calls++
          }
        })
      )
    )
    return { characters, calls }
  }).pipe(
    timed,
    Effect.provide([
      Fiberloop.layer,
      store,
      Source.layer(scenario),
      Source.toolkit.toLayer({ double: Source.handler })
    ]),
    Effect.orDie
  )

/** A database in a folder of its own, removed afterwards. */
const sqlite = (scenario: Scenario) =>
  Effect.gen(function*() {
    const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
    return yield* run(scenario, SessionStoreSqlite.layer({ filename: `${folder}/sessions.db` }))
  }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer), Effect.orDie)

export const contenders = [
  { name: "fiberloop, memory", run: (scenario: Scenario) => run(scenario, SessionStoreMemory.layer) },
  { name: "fiberloop, SQLite", run: sqlite }
]
