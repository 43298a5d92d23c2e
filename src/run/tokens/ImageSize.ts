/**
 * The size of an image in pixels, from the header of a PNG, JPEG, GIF or WebP.
 *
 * Does not own what an image of that size costs; that is `FileTokens`.
 */
import * as Base64 from "./Base64.ts"

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** The size of an image in base64, whatever its media type says; `undefined` if it is none of the four, or is cut. */
export const read = (base64: string): ImageSize | undefined => {
  const size = readHeader((index) => Base64.byte(base64, index), Base64.size(base64))
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

/** The byte at an index, 0 past the end. */
type Bytes = (index: number) => number

const readHeader = (at: Bytes, length: number): ImageSize | undefined => {
  // https://www.w3.org/TR/png-3/#11IHDR
  if (is(at, 0, "\x89PNG\r\n\x1a\n")) return { width: big(at, 16, 4), height: big(at, 20, 4) }
  // https://www.w3.org/Graphics/GIF/spec-gif89a.txt, 18
  if (is(at, 0, "GIF8")) return { width: little(at, 6, 2), height: little(at, 8, 2) }
  if (is(at, 0, "RIFF") && is(at, 8, "WEBP")) return webp(at)
  return is(at, 0, "\xff\xd8") ? jpeg(at, length) : undefined
}

/** https://www.rfc-editor.org/rfc/rfc9649 */
const webp = (at: Bytes): ImageSize | undefined => {
  if (is(at, 12, "VP8X")) return { width: little(at, 24, 3) + 1, height: little(at, 27, 3) + 1 }
  if (is(at, 12, "VP8L")) {
    const bits = little(at, 21, 4)
    return { width: bits % 0x4000 + 1, height: Math.floor(bits / 0x4000) % 0x4000 + 1 }
  }
  return is(at, 12, "VP8 ") ? { width: little(at, 26, 2) % 0x4000, height: little(at, 28, 2) % 0x4000 } : undefined
}

/**
 * ITU T.81, B.1 and B.2.2: goes from segment to segment up to the frame header, which comes before the image itself.
 */
const jpeg = (at: Bytes, length: number): ImageSize | undefined => {
  let index = 2
  while (index < length && at(index) === 0xff) {
    const marker = at(index + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: big(at, index + 7, 2), height: big(at, index + 5, 2) }
    // a marker may be preceded by fill bytes
    index += marker === 0xff ? 1 : 2 + big(at, index + 2, 2)
  }
  return undefined
}

const is = (at: Bytes, from: number, signature: string): boolean => {
  for (let i = 0; i < signature.length; i++) if (at(from + i) !== signature.charCodeAt(i)) return false
  return true
}

const big = (at: Bytes, from: number, bytes: number): number => {
  let out = 0
  for (let i = 0; i < bytes; i++) out = out * 256 + at(from + i)
  return out
}

const little = (at: Bytes, from: number, bytes: number): number => {
  let out = 0
  for (let i = bytes - 1; i >= 0; i--) out = out * 256 + at(from + i)
  return out
}
