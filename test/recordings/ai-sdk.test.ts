/**
 * Replays recorded streams of Anthropic and Google (`anthropic-messages.*`, `google-generate.*`: JSON, one payload a line, or
 * server-sent events) through models of the AI SDK, from the folder `FIBERLOOP_RECORDINGS`, default `../shared/recordings`.
 */
import { describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as Replay from "../support/AiSdkReplay.ts"
import * as Recording from "../support/Recording.ts"

const root = join(import.meta.dirname, "../..")
const folder = resolve(root, process.env["FIBERLOOP_RECORDINGS"] ?? "../shared/recordings")
const protocolOf = (file: string) => Object.keys(Replay.protocols).find((protocol) => file.startsWith(`${protocol}.`))
const files = existsSync(folder) ? readdirSync(folder).sort() : []

for (const file of files) {
  const protocol = protocolOf(file)
  if (protocol === undefined) continue
  describe(file, () => {
    let payloads: ReadonlyArray<Recording.Payload> | undefined
    try {
      payloads = Recording.parse(readFileSync(join(folder, file), "utf8"))
    } catch (error) {
      it("can be read", () => {
        throw error
      })
      return
    }
    Replay.reading(protocol, payloads ?? [], true)
  })
}

// a folder may hold chat completions only
it.runIf(files.every((file) => protocolOf(file) === undefined))("no stream of Anthropic or Google is there", () => {})
