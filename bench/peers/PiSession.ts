/** pi with the JSONL session of its coding agent: each settled message is appended to the session's file before the run goes on. */
import type { AgentMessage } from "@earendil-works/pi-agent-core"
import type { Message } from "@earendil-works/pi-ai"
import { SessionManager } from "@earendil-works/pi-coding-agent"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Contender } from "../harness/Contender.ts"
import * as Pi from "./Pi.ts"

export const contenders: ReadonlyArray<Contender> = [{
  name: "pi, JSONL session",
  open: async (script, tally) => {
    const folder = mkdtempSync(join(tmpdir(), "fiberloop-bench-"))
    const sessions = join(folder, "sessions")
    // makes its file with the first message
    const create = () => SessionManager.create(folder, sessions)
    let session = create()
    const keep = (message: AgentMessage) => {
      // as the coding agent does; the other roles are its own and its extensions'
      if (["system", "user", "assistant", "toolResult"].includes(message.role)) {
        session.appendMessage(message as Message)
      }
    }
    const run = async (signal?: AbortSignal) => {
      session = create()
      await Pi.run(script, tally, keep)(signal)
    }
    const fileOf = (): string => session.getSessionFile()!
    const reopen = async () => {
      const { messages } = SessionManager.open(fileOf(), sessions).buildSessionContext()
      return { results: messages.filter(({ role }) => role === "toolResult").length }
    }
    return {
      run,
      reopen,
      bytesOf: "file",
      bytes: async () => statSync(fileOf()).size,
      close: async () => rmSync(folder, { recursive: true, force: true })
    }
  }
}]
