/** Texts that are only compared, not read: kept whole if they are short, else as a digest. Pure. */

/**
 * A text of at most 100 characters: the text itself, or its beginning with its length and a digest of 64 bits. Two
 * different texts have the same one with a chance of 2^-64; this is no protection against somebody who looks for one.
 */
export const of = (text: string): string =>
  text.length <= 100 ? text : `${text.slice(0, 60).toWellFormed()}… ${text.length} ${digest(text)}`

/** The same for a text that nobody reads: at most 30 characters, without the beginning of the text. */
export const short = (text: string): string => text.length <= 30 ? text : `${text.length} ${digest(text)}`

/** 32 characters for a text of any length: two different texts have the same one with a chance of 2^-128. */
export const long = (text: string): string => digest(text) + digest(`~${text}`)

/** Two multiplicative hashes of 32 bits, mixed (after cyrb53 by bryc, public domain), hex. */
const digest = (text: string): string => {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  // two characters at a time; a zero follows the last one
  for (let i = 0; i < text.length; i += 2) {
    const pair = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
    a = Math.imul(a ^ pair, 2654435761)
    b = Math.imul(b ^ pair, 1597334677)
    a ^= a >>> 15
    b ^= b >>> 13
  }
  return hex(Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)) +
    hex(Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909))
}

const bytes: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** 32 bits as 8 digits. */
const hex = (bits: number): string =>
  bytes[bits >>> 24]! + bytes[(bits >>> 16) & 255]! + bytes[(bits >>> 8) & 255]! + bytes[bits & 255]!
