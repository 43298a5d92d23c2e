/**
 * The `data` of a file: base64, or an address, which may be a `data:` URL with base64 in it.
 *
 * Does not own whether a file can be sent (`FileCheck`).
 */

/** Whether it is an address, `data:` included, and not base64; a log may hold addresses that are not URLs. */
export const isAddress = (data: string): boolean => /^(https?|data):/i.test(data)

/** A `data:` URL in parts: what follows its comma, and where that is base64, the media type before it. */
interface Held {
  readonly content: string
  readonly mediaType: string | undefined
}

/** What a `data:` URL holds, see RFC 2397; `undefined` for any other data. */
export const held = (data: string): Held | undefined => {
  if (!/^data:/i.test(data)) return undefined
  const comma = data.indexOf(",")
  if (comma < 0) return { content: "", mediaType: undefined }
  const content = data.slice(comma + 1)
  const mediaType = /^data:(.*);\s*base64\s*$/is.exec(data.slice(0, comma))?.[1]
  return { content: mediaType === undefined ? content : unescaped(content), mediaType }
}

/** Percent-decoded; what cannot be is left as it is. */
const unescaped = (text: string): string => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** In either alphabet of RFC 4648, padded or not, with or without line breaks. */
export const isBase64 = (text: string): boolean => shape.test(text) && text.replace(/[\s=]+/g, "").length % 4 !== 1

const shape = /^\s*[\w+/-][\w+/\s-]*(?:=\s*){0,2}$/

/** The same data as every provider and browser takes it: its base64 is in the alphabet of section 4, padded, in one line. */
export const normal = (data: string): string => {
  const url = held(data)
  if (url?.mediaType !== undefined) return `data:${url.mediaType};base64,${padded(url.content)}`
  return isAddress(data) ? data : padded(data)
}

const padded = (base64: string): string => {
  if (base64.length % 4 === 0 && !/[^A-Za-z0-9+/=]/.test(base64)) return base64
  const plain = base64.replace(/[\s=]/g, "").replaceAll("-", "+").replaceAll("_", "/")
  return plain + "=".repeat((4 - plain.length % 4) % 4)
}
