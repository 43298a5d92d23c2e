/** What becomes of a run that is over in this process. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as AgentRuns from "../../../src/loop/drive/AgentRuns.ts"
import * as Live from "../../../src/loop/drive/Live.ts"
import * as Telling from "../../../src/loop/drive/Telling.ts"
import type * as DriveRequest from "../../../src/loop/env/DriveRequest.ts"
import type * as Env from "../../../src/loop/env/Env.ts"
import * as RunError from "../../../src/run/RunError.ts"

it.effect("a run whose end has been told is no longer held by its agent", () =>
  Effect.gen(function*() {
    const agentRuns = AgentRuns.make()
    const request = { sessionId: "s", runId: "r", begin: {}, brief: {} } as DriveRequest.DriveRequest
    const live = new Live.Live({} as Env.Services, request, agentRuns)
    agentRuns.all.add(live)
    yield* Telling.tell(live, Exit.fail(RunError.shuttingDown))
    assert.deepStrictEqual([...agentRuns.all], [])
  }))
