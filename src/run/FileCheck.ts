/** Whether a file can be one: a provider refuses what cannot, and does so with every request from then on. */
import * as Message from "./Message.ts"

/** What is sent in the place of a file that cannot be one; many messages share it. */
export const lost: Message.TextPart = Object.freeze(Message.text("[a file is missing here: it cannot be sent]"))

/** What is wrong with a file and what to do, to follow the words "a file"; does not repeat what it holds. */
export const wrongIn = (file: Message.FilePart): string | undefined => {
  if (file.mediaType.trim() === "") return `without a media type; say what it is, as "image/png"`
  if (isEmpty(file.data)) return "without data; leave it out, or give what it holds"
  if (!Message.isAddress(file)) {
    return base64.test(file.data)
      ? undefined
      : "whose data is neither base64 nor an http(s) or data URL; give one of these"
  }
  return URL.canParse(file.data)
    ? undefined
    : "whose address is not a valid URL; correct the address, or give the file as base64"
}

/** A data URL holds what follows its comma, see RFC 2397. */
const isEmpty = (data: string): boolean =>
  /^data:/i.test(data) ? !/\S/.test(data.slice(data.indexOf(",") + 1 || data.length)) : !/\S/.test(data)

/** Of either alphabet, in lines or not. */
const base64 = /^\s*[\w+/-][\w+/\s-]*(?:=\s*){0,2}$/
