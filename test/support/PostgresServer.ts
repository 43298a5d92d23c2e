/**
 * A test run's Postgres, as vitest's global setup: started when the first test asks for it, so that other tests do not
 * wait for it, and stopped with the run. `DATABASE_URL` is used instead if it is set.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import * as Postgres from "./Postgres.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** a socket that answers each connection with the URL of a database, or why there is none */
    readonly postgres: string
  }
}

export type Answer = { readonly url: string } | { readonly error: string }

export const setup = ({ provide }: TestProject): () => Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "fiberloop-tests-"))
  let server: Promise<Postgres.Postgres> | undefined
  const answer = async (): Promise<Answer> => {
    const url = process.env["DATABASE_URL"]
    if (url !== undefined && url !== "") return { url }
    try {
      return { url: (await (server ??= Postgres.start())).url }
    } catch (cause) {
      return { error: `Postgres cannot be started here, set DATABASE_URL: ${String(cause)}` }
    }
  }
  const door = createServer((socket) => {
    socket.on("error", () => socket.destroy())
    void answer().then((found) => socket.end(JSON.stringify(found)))
  })
  const path = process.platform === "win32" ? `\\\\.\\pipe\\fiberloop-${process.pid}` : join(folder, "postgres")
  door.listen(path).unref()
  provide("postgres", path)
  return async () => {
    door.close()
    await server?.then((started) => started.remove(), () => undefined)
    rmSync(folder, { recursive: true, force: true })
  }
}
