/**
 * Runs that do not end by themselves: one agent always wants to read another page, the other the same page again.
 *
 * `npm run build`, then `node examples/troubleshooting/endless.ts`, then as docs/troubleshooting.md says
 */
import { NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import * as Reader from "./Reader.ts"

const [, , db = "endless.db"] = process.argv

NodeRuntime.runMain(Effect.andThen(
  Reader.show(db, { name: "wandering", model: ({ metadata }) => Reader.readPage(metadata.turn) }),
  Reader.show(db, { name: "circling", model: () => Reader.readPage(1) })
))
