/** Owns what a text file is: UTF-8 without NUL. Pure. */

/** The text, with its byte order mark; `undefined` when it is not a text, so that writing it back would corrupt it. */
export const decode = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The bytes of a text; `undefined` when it has a NUL character or half a surrogate pair, which no text file can hold. */
export const encode = (text: string): Uint8Array | undefined =>
  text.includes("\0") || !text.isWellFormed() ? undefined : Buffer.from(text)

/** Counts lines as the file tools do: what a line feed ends, and an unterminated rest. */
export const countLines = (text: string): number =>
  text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
