import { assert, describe, it } from "@effect/vitest"
import type * as Message from "../../../src/run/Message.ts"
import * as FileTokens from "../../../src/run/tokens/FileTokens.ts"

const file = (mediaType: string, data: string): Message.FilePart => ({ type: "file", mediaType, data })
const bytes = (count: number) => Buffer.alloc(count, "x").toString("base64")

const png = (width: number, height: number) => {
  const header = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")
  const size = Buffer.alloc(8)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  return Buffer.concat([header, size]).toString("base64")
}

describe("the tokens of a file", () => {
  it.each<readonly [string, number, number, number]>([
    ["small: OpenAI's base and one tile", 200, 200, 255],
    ["Anthropic's patches of 28 pixels", 1000, 1000, 36 * 36],
    ["as large as Anthropic takes it", 8000, 8000, 4784],
    ["wide: scaled down to 2576 pixels", 5152, 560, 92 * 10],
    ["a line", 1, 100_000, 85 + 170 * 4]
  ])("depend on its pixels for an image: %s", (_, width, height, tokens) => {
    assert.strictEqual(FileTokens.tokens(file("image/png", png(width, height))), tokens)
  })

  it("are those of the contents of a data address", () => {
    for (const scheme of ["data", "DATA"]) {
      assert.strictEqual(FileTokens.tokens(file("image/png", `${scheme}:image/png;base64,${png(1000, 1000)}`)), 36 * 36)
    }
  })

  it.each<readonly [string, string, string, number]>([
    ["an image that is not read", "image/tiff", bytes(5_000_000), 1600],
    ["the address of an image", "image/png", "https://example.com/a.png", 1600],
    ["the address of a document in capitals", "application/pdf", `HTTPS://example.com/${"a".repeat(200_000)}`, 3000],
    ["the address of a document", "application/pdf", "https://example.com/a.pdf", 3000],
    ["a document of a page", "application/pdf", bytes(1000), 3000],
    ["a document of a megabyte", "Application/PDF; version=1.7", bytes(1_000_000), 14 * 3000],
    ["text", "text/plain", bytes(3000), 1000],
    ["nothing", "text/plain", "", 1],
    ["sound", "audio/mpeg", bytes(960_000), 2400],
    ["a film", "video/mp4", bytes(960_000), 2400],
    ["what has no media type", "", bytes(30), 10]
  ])("are a fixed figure for %s", (_, mediaType, data, tokens) => {
    assert.strictEqual(FileTokens.tokens(file(mediaType, data)), tokens)
  })
})
