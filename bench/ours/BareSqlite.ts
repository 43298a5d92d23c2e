/**
 * The floor of a durable step: the two writes that fiberloop makes per step, with the same bytes, each a prepared insert in its
 * own commit; and the floor of reopening: read and parse. Runs no model, tool or loop.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Contender } from "../harness/Contender.ts"
import * as Writes from "./Writes.ts"

const contender = (name: string, synchronous: "NORMAL" | "FULL"): Contender => ({
  name,
  onlyWrites: true,
  open: async (script) => {
    const { DatabaseSync } = await import("node:sqlite")
    const folder = mkdtempSync(join(tmpdir(), "fiberloop-bench-"))
    const filename = join(folder, "floor.db")
    const writes = await Writes.of(script)
    const connect = () => {
      const database = new DatabaseSync(filename)
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
      return database
    }
    const database = connect()
    database.exec("CREATE TABLE events (key INTEGER PRIMARY KEY, json TEXT)")
    const insert = database.prepare("INSERT INTO events VALUES (?, ?)")
    let sessions = 0
    // session and place in one number, as the log has it
    const keyOf = (session: number, seq: number) => session * 2 ** 32 + seq
    const run = async () => {
      sessions++
      writes.forEach((json, seq) => insert.run(keyOf(sessions, seq), json))
    }
    const reopen = async () => {
      const again = connect()
      const select = again.prepare("SELECT json FROM events WHERE key >= ? AND key < ? ORDER BY key")
      const rows = select.all(keyOf(sessions, 0), keyOf(sessions + 1, 0))
      const events = rows.flatMap(({ json }) => JSON.parse(String(json)) as ReadonlyArray<{ readonly _tag: string }>)
      again.close()
      return { results: events.filter(({ _tag }) => _tag === "ToolSettled").length }
    }
    return {
      run,
      reopen,
      // of the JSON alone: the pages of a file take some more
      bytes: async () => writes.reduce((sum, json) => sum + Buffer.byteLength(json), 0),
      close: async () => {
        database.close()
        rmSync(folder, { recursive: true, force: true })
      }
    }
  }
})

export const contenders: ReadonlyArray<Contender> = [
  contender("floor: prepared inserts", "NORMAL"),
  contender("floor: prepared inserts, fsync", "FULL")
]
