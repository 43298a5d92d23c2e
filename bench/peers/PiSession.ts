/** pi with the JSONL session of its coding agent: each settled message is appended to the session's file before the run goes on. */
import type { AgentMessage } from "@earendil-works/pi-agent-core"
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
    let session = SessionManager.create(folder, sessions)
    let isUsed = false
    const keep = (message: AgentMessage) => {
      // the others are its extensions' own
      if (message.role === "user" || message.role === "assistant" || message.role === "toolResult") {
        session.appendMessage(message)
      }
    }
    const run = async (signal?: AbortSignal) => {
      if (isUsed) session = SessionManager.create(folder, sessions)
      isUsed = true
      await Pi.run(script, tally, keep)(signal)
    }
    const fileOf = (): string => session.getSessionFile()!
    const reopen = async () => {
      const { messages } = SessionManager.open(fileOf(), sessions).buildSessionContext()
      return { results: messages.filter(({ role }) => role === "toolResult").length, end: async () => {} }
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
