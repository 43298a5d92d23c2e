/**
 * Many compactions: a window smaller than a task needs forgets pages as fast as they are read. With enough room, the same task
 * needs none.
 *
 * `npm run build`, then `node examples/troubleshooting/compactions.ts`, then as docs/troubleshooting.md says
 */
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { ContextWindow, RunsLocal, ToolExecutorToolkit } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import * as Reader from "./Reader.ts"

const [, , db = "compactions.db"] = process.argv

const reading = (name: string, compactThreshold: number) =>
  Reader.show(db, {
    name,
    model: ({ metadata: { turn } }) => turn < 13 ? Reader.readPage(turn) : ScriptedModel.text("It has 12 pages."),
    services: Layer.mergeAll(
      ToolExecutorToolkit.layer,
      ContextWindow.layerWith({ compactThreshold }),
      RunsLocal.layer
    )
  })

NodeRuntime.runMain(Effect.andThen(reading("cramped", 6), reading("roomy", 40)))
