/**
 * Replays recorded chat completions (`openai-chat.*`: JSON, one payload a line, or server-sent events) from the folder
 * `FIBERLOOP_RECORDINGS`, default `../shared/recordings`. Fails when there are none; a file without a stream is only told.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, beforeEach } from "vitest"
import * as Recording from "../support/Recording.ts"
import * as Replay from "../support/Replay.ts"

const root = join(import.meta.dirname, "../..")
const folder = resolve(root, process.env["FIBERLOOP_RECORDINGS"] ?? "../shared/recordings")
const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.startsWith("openai-chat.")).sort() : []

const recordings = files.map((file): readonly [string, () => ReadonlyArray<Recording.Payload> | undefined] => {
  const text = readFileSync(join(folder, file), "utf8")
  try {
    const payloads = Recording.parse(text)
    return [file, () => payloads]
  } catch (error) {
    return [file, () => {
      throw error
    }]
  }
})
const ran = new Set<string>()
const failed = new Set<string>()
const streamless = new Set<string>()

it("there are recordings", () => {
  assert.isNotEmpty(files, `no openai-chat.* in ${folder}: set FIBERLOOP_RECORDINGS to a folder of recorded streams`)
})

afterAll(() => {
  const told = (what: string, names: Set<string>) => names.size === 0 ? "" : `; ${what}: ${[...names].join(", ")}`
  const passed = new Set([...ran].filter((file) => !failed.has(file)))
  console.log(
    `${passed.size} of ${files.length} recordings of ${folder} passed${told("passed", passed)}`
      + `${told("failed", failed)}${told("no stream", streamless)}`
  )
})

for (const [file, payloads] of recordings) {
  describe(file, () => {
    beforeEach(({ onTestFailed }) => {
      ran.add(file)
      onTestFailed(() => {
        failed.add(file)
      })
    })
    let stream: ReadonlyArray<Recording.Payload> | undefined
    try {
      stream = payloads()
    } catch (error) {
      it("can be read", () => {
        throw error
      })
      return
    }
    if (stream === undefined) return void streamless.add(file)
    Replay.reading(stream)
    Replay.sockets(stream)
  })
}
