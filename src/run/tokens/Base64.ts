/**
 * Bytes of a base64 text, read one by one in place, so that reading the header of a large file does not copy it.
 *
 * Does not own whether a text is base64: for any other it returns some bytes, and never fails.
 */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
const digits = new Uint8Array(128)
for (let value = 0; value < 64; value++) digits[alphabet.charCodeAt(value)] = value
// the alphabet for URLs (RFC 4648, section 5)
digits["-".charCodeAt(0)] = 62
digits["_".charCodeAt(0)] = 63

const digitAt = (text: string, at: number): number => digits[text.charCodeAt(at)] ?? 0

/** How many bytes `text` holds. */
export const size = (text: string): number => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0
  return Math.floor((text.length - padding) * 3 / 4)
}

/** The byte at `index`, 0 past the end. */
export const byte = (text: string, index: number): number => {
  const at = Math.floor(index / 3) * 4
  switch (index % 3) {
    case 0:
      return (digitAt(text, at) << 2 | digitAt(text, at + 1) >> 4) & 0xff
    case 1:
      return (digitAt(text, at + 1) << 4 | digitAt(text, at + 2) >> 2) & 0xff
    default:
      return (digitAt(text, at + 2) << 6 | digitAt(text, at + 3)) & 0xff
  }
}
