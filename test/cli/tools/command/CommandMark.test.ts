import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CommandMark from "../../../../src/cli/tools/command/CommandMark.ts"

it.effect("a mark comes behind those of this process, so that whoever ends that finds what it has started", () =>
  Effect.gen(function*() {
    yield* Effect.acquireRelease(
      Effect.sync(() => process.env.FIBERLOOP_COMMAND = "outer"),
      () => Effect.sync(() => delete process.env.FIBERLOOP_COMMAND)
    )
    assert.match(CommandMark.make().environment.FIBERLOOP_COMMAND ?? "", /^outer [-0-9a-f]{36}$/)
  }))
