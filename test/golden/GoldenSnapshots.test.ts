/**
 * Snapshots that a version wrote are read by the versions that fold events as it did, and by no others.
 *
 * If a test here fails, a fold yields other states or messages than before, and databases hold snapshots of the old ones:
 * raise `Snapshot.version` and add the file that `FIBERLOOP_GOLDEN=write` makes. Existing files MUST NEVER CHANGE.
 */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Snapshot from "../../src/run/log/Snapshot.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Compactions from "../support/Compactions.ts"
import * as Logs from "../support/Logs.ts"
import { dice } from "../support/Odd.ts"

const folder = import.meta.dirname
const nameOf = (version: number) => `snapshots-v${version}.jsonl`

/** Sessions with every type of event, one a line. */
const generate = () => {
  const die = dice(1)
  const moves = () => Array.from({ length: 50 }, () => die.int(2 ** 31))
  const logs = Array.from({ length: 6 }, (_, i) => Compactions.insert(Logs.play(moves(), i % 2 * 0.3).log, i, 0.1))
  return logs.map((log) => `${JSON.stringify(Compactions.withSnapshots(log))}\n`).join("")
}

if (process.env["FIBERLOOP_GOLDEN"] === "write") {
  writeFileSync(join(folder, nameOf(Snapshot.version)), generate(), { flag: "wx" })
}

const logsOf = (name: string) =>
  readFileSync(join(folder, name), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line) as Logs.Log)

const snapshotsOf = (log: Logs.Log) =>
  log.flatMap((event: RunEvent.Durable) =>
    event._tag === "ContextCompacted" && event.snapshot !== undefined ? [event] : []
  )

describe("golden snapshots", () => {
  it("exist for this version", () => {
    assert.isAtLeast(logsOf(nameOf(Snapshot.version)).flatMap(snapshotsOf).length, 10)
  })

  for (const name of readdirSync(folder).filter((name) => /^snapshots-v\d+\.jsonl$/.test(name))) {
    const isOwn = name === nameOf(Snapshot.version)

    it(`${name} are ${isOwn ? "equal to what reading the whole log yields" : "not read"}`, () => {
      for (const log of logsOf(name)) {
        if (isOwn) Compactions.checkSame(log)
        else for (const event of snapshotsOf(log)) assert.isUndefined(Snapshot.startOf(event))
      }
    })
  }
})
