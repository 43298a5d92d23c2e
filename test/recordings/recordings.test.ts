/**
 * Replays recorded provider streams (`<protocol>.*`: JSON, one payload a line, or server-sent events) from the folder
 * `FIBERLOOP_RECORDINGS`, default `../shared/recordings`; with `--full`, or `FIBERLOOP_RECORDINGS_FULL=1`, cut at every
 * offset. Fails when there are none; a file without a stream, or of a protocol that has no model here, is only reported.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, beforeEach } from "vitest"
import * as Playback from "../support/Playback.ts"
import type * as Protocol from "../support/Protocol.ts"
import * as Recording from "../support/Recording.ts"
import * as Replay from "../support/Replay.ts"
import * as Protocols from "./Protocols.ts"

const root = join(import.meta.dirname, "../..")
const folder = resolve(root, process.env["FIBERLOOP_RECORDINGS"] ?? "../shared/recordings")
const isFull = process.env["FIBERLOOP_RECORDINGS_FULL"] === "1"
const timeout = 3_600_000

const names = existsSync(folder) ? readdirSync(folder).sort() : []
const files = names.flatMap((file): ReadonlyArray<readonly [string, Protocol.Protocol]> => {
  const protocol = Protocols.all.find(({ name }) => file.startsWith(`${name}.`))
  return protocol === undefined ? [] : [[file, protocol]]
})
const modelless = new Set(names.filter((name) => !/^readme/i.test(name) && !files.some(([file]) => file === name)))

/** The payloads of a file, `undefined` if it holds no stream, or why it cannot be read. */
const read = (file: string): ReadonlyArray<Recording.Payload> | undefined | Error => {
  try {
    return Recording.parse(readFileSync(join(folder, file), "utf8"))
  } catch (error) {
    return error as Error
  }
}

const recordings = files.map(([file, protocol]) => ({ file, protocol, stream: read(file) }))
const ran = new Set<string>()
const failed = new Set<string>()
const streamless = new Set(recordings.flatMap(({ file, stream }) => stream === undefined ? [file] : []))

it("the folder contains recordings", () => {
  const kinds = Protocols.all.map(({ name }) => `${name}.*`).join(", ")
  assert.isNotEmpty(files, `no ${kinds} in ${folder}: set FIBERLOOP_RECORDINGS to a folder of recorded streams`)
})

afterAll(() => {
  const told = (what: string, names: Set<string>) => names.size === 0 ? "" : `; ${what}: ${[...names].join(", ")}`
  const passed = new Set([...ran].filter((file) => !failed.has(file)))
  console.log(
    `${passed.size} of ${files.length} recordings of ${folder} passed${told("passed", passed)}`
      + `${told("failed", failed)}${told("no stream", streamless)}${told("no model", modelless)}`
  )
})

for (const { file, protocol, stream } of recordings) {
  if (stream === undefined) continue
  describe(file, () => {
    beforeEach(({ onTestFailed }) => {
      ran.add(file)
      onTestFailed(() => {
        failed.add(file)
      })
    })
    if (stream instanceof Error) {
      it("can be read", () => {
        throw stream
      })
      return
    }
    if (protocol === Protocols.openAiChat) {
      Replay.reading(stream)
      Replay.sockets(stream)
    }
    Playback.suite(protocol, stream, isFull, timeout)
  })
}
