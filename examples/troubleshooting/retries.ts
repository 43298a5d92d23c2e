/**
 * Many retries: a provider that is overloaded two times out of three, so every answer takes three attempts.
 *
 * `npm run build`, then `node examples/troubleshooting/retries.ts`, then as docs/troubleshooting.md says
 */
import { NodeRuntime } from "@effect/platform-node"
import { RetryPolicy, RunError } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import * as Reader from "./Reader.ts"

const [, , db = "retries.db"] = process.argv

const overloaded = ScriptedModel.fail(
  new RunError.RetryableError<RunError.ProviderReason>({
    _tag: "Overloaded",
    message: "the provider is overloaded",
    status: 529
  })
)

NodeRuntime.runMain(Reader.show(db, {
  name: "unlucky",
  model: ({ metadata: { attempt, turn } }) =>
    attempt < 3 ? overloaded : turn < 4 ? Reader.readPage(turn) : ScriptedModel.text("It is about pages."),
  // a tenth of the default, so that nobody has to wait
  agent: { retry: RetryPolicy.make({ base: "100 millis" }) }
}))
