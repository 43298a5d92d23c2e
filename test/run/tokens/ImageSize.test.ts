import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ImageSize from "../../../src/run/tokens/ImageSize.ts"

const base64 = (...parts: ReadonlyArray<string | ReadonlyArray<number>>) =>
  Buffer.concat(parts.map((part) => typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part)))
    .toString("base64")

// the first bytes of files that image programs wrote
const png = "iVBORw0KGgoAAAANSUhEUgAAAkwAAADyCAIAAAAwWQ24"
const gif = "R0lGODlhEAAQAPU/AOu7GOu+IfPBGvrHGf3LG//MHOvCKv/PI//PJA=="
const extendedWebp = "UklGRqgBAABXRUJQVlA4WAoAAAAQAAAADwAADwAAQUxQSMMAAAABJw=="
const jpeg =
  "/9j/2wBDAAEBAQEBAQEBAQEBAQEBAQIBAQEBAQICAgICAwMDAwMDAwMDBAQEAwMEAwMDBAUEBAUFBQUFAwQFBgUFBgQFBQX/2wBDAQEBAQEBAQIBAQIFAwMDBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQX/wgARCAHdAtADASEAAhEBAxEB/8QAHQAAAQQDAQEAAAAAAAA="

// RFC 9649: a key frame of 640 by 401 scaled up, and a lossless one of 1000 by 3
const lossyWebp = base64("RIFF\0\0\0\0WEBPVP8 \0\0\0\0", [0, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x42, 0x91, 0x81])
const losslessBits = 1000 - 1 | (3 - 1) << 14
const losslessWebp = base64(
  "RIFF\0\0\0\0WEBPVP8L\0\0\0\0",
  [0x2f, 0, 8, 16, 24].map((shift, i) => i === 0 ? shift : losslessBits >> shift & 0xff)
)

/** A photograph's description and preview, before the rest of it. */
const described = (jpeg: string, bytes: number) => {
  const [length, rest] = [bytes + 2, Buffer.from(jpeg, "base64").subarray(2)]
  return base64([0xff, 0xd8, 0xff, 0xff, 0xe1, length >> 8, length & 0xff], "\xff\xc0".repeat(bytes / 2), [...rest])
}

describe("the size of an image", () => {
  it.each<readonly [string, string, number, number]>([
    ["a PNG", png, 588, 242],
    ["a GIF", gif, 16, 16],
    ["a JPEG, progressive", jpeg, 720, 477],
    ["a JPEG after 60 kB of description", described(jpeg, 60_000), 720, 477],
    ["a WebP with transparency", extendedWebp, 16, 16],
    ["a WebP", lossyWebp, 640, 401],
    ["a WebP without loss", losslessWebp, 1000, 3]
  ])("is read from %s", (_, data, width, height) => assert.deepStrictEqual(ImageSize.read(data), { width, height }))

  it("is read from base64 for URLs", () => {
    const url = jpeg.replaceAll("+", "-").replaceAll("/", "_")
    assert.deepStrictEqual(ImageSize.read(url), { width: 720, height: 477 })
  })

  it.each<readonly [string, string]>([
    ["nothing", ""],
    ["a text", base64("GIMP, PNG and WEBP are words")],
    ["a PNG without its end", png.slice(0, 20)],
    ["a JPEG that ends before its frame", jpeg.slice(0, 60)],
    ["a JPEG that is only filling", base64([0xff, 0xd8], "\xff".repeat(1000))],
    ["what is no base64", "<svg width=\"10\" height=\"10\"/>"]
  ])("is unknown for %s", (_, data) => assert.isUndefined(ImageSize.read(data)))

  it.effect.prop("is unknown or positive, whatever follows the signature", [
    Schema.Literals([png.slice(0, 11), gif.slice(0, 6), jpeg.slice(0, 4), extendedWebp.slice(0, 21), ""]),
    Schema.String
  ], ([start, rest]) =>
    Effect.sync(() => {
      const size = ImageSize.read(start + rest)
      assert.isTrue(size === undefined || (size.width > 0 && size.height > 0))
    }))
})
