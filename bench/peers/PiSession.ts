/** pi with its JSONL session: each settled message is appended to the session's branch before the run goes on. */
import { BACKGROUND_CONTEXT as context, JsonlSessionRepo } from "@earendil-works/pi-agent-core"
import { NodeExecutionEnv } from "@earendil-works/pi-agent-core/harness/env/nodejs"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Contender } from "../harness/Contender.ts"
import * as Pi from "./Pi.ts"

const branch = "main"

export const contenders: ReadonlyArray<Contender> = [{
  name: "pi, JSONL session",
  open: async (script, tally) => {
    const folder = mkdtempSync(join(tmpdir(), "fiberloop-bench-"))
    const makeRepo = () =>
      new JsonlSessionRepo({
        fileSystem: new NodeExecutionEnv({ cwd: folder }),
        sessionsRoot: join(folder, "sessions")
      })
    const repo = makeRepo()
    const create = () => repo.create({ cwd: folder }, context)
    let session = await create()
    let isUsed = false
    const run = async (signal?: AbortSignal) => {
      if (isUsed) session = await create()
      isUsed = true
      const main = await session.createBranch(branch, null, context)
      await Pi.run(script, tally, (message) => main.appendMessage(message, context))(signal)
    }
    const reopen = async () => {
      const again = await makeRepo().open(session.metadata, context)
      const entries = await (await again.branch(branch, context))!.findEntries(undefined, context)
      const messages = entries.flatMap((entry) => entry.type === "message" ? [entry.message] : [])
      return { results: messages.filter(({ role }) => role === "toolResult").length, end: () => again.close(context) }
    }
    return {
      run,
      reopen,
      bytesOf: "file",
      // closed before that, since closing is not part of reopening
      bytes: async () => {
        await session.close(context)
        return statSync(session.metadata.path).size
      },
      close: async () => rmSync(folder, { recursive: true, force: true })
    }
  }
}]
