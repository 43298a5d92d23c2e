/**
 * Asks the command's agent on the offline model, with real tools on a real folder and a session in memory. Every request
 * is checked by the strictest provider.
 */
import { Effect, Layer, Stream } from "effect"
import { CliAgent, reading } from "../../../src/cli/agent/CliAgent.ts"
import * as Instructions from "../../../src/cli/agent/Instructions.ts"
import * as OfflineModel from "../../../src/cli/offline/OfflineModel.ts"
import * as Calculate from "../../../src/cli/tools/calculate/Calculate.ts"
import * as FileTools from "../../../src/cli/tools/files/FileTools.ts"
import * as Fiberloop from "../../../src/Fiberloop.ts"
import * as SessionStoreMemory from "../../../src/layers/SessionStoreMemory.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as ModelService from "../../../src/services/Model.ts"
import * as StrictModel from "../../../src/testing/StrictModel.ts"

const Model = Layer.effect(ModelService.Model, StrictModel.make(OfflineModel.make))

export const agent = (root: string) =>
  reading(Instructions.reading).pipe(
    Layer.provide([FileTools.layer(root), Calculate.layer, Model, Fiberloop.layer]),
    Layer.provideMerge(SessionStoreMemory.layer)
  )

export interface Asked {
  readonly text: string
  readonly end: RunEvent.End["_tag"] | undefined
  readonly turns: number
  /** name and arguments of every call that ran */
  readonly calls: ReadonlyArray<readonly [tool: string, params: any]>
  readonly events: ReadonlyArray<RunEvent.RunEvent>
}

/** What becomes of a task: the text as it was streamed, and the calls. */
export const ask = (root: string, task: string): Effect.Effect<Asked> =>
  Effect.gen(function*() {
    const client = yield* CliAgent
    const events: Array<RunEvent.RunEvent> = []
    yield* client.stream({ input: task }).pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.ignore
    )
    return {
      text: events.map((event) => event._tag === "TextDelta" ? event.delta : "").join(""),
      end: events.findLast((event) => event._tag.startsWith("Run"))?._tag as RunEvent.End["_tag"],
      turns: events.filter((event) => event._tag === "TurnStarted").length,
      calls: events.flatMap((event) => event._tag === "ToolStarted" ? [[event.tool, event.params] as const] : []),
      events
    }
  }).pipe(Effect.provide(agent(root)), Effect.orDie)

/** The streamed answer. */
export const answer = (root: string, task: string): Effect.Effect<string> => Effect.map(ask(root, task), (_) => _.text)
