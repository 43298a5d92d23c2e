/** Whether a file can be sent: a provider refuses one that cannot, and refuses it again with every later request. */
import * as Message from "./Message.ts"

/** What is sent instead of a file that cannot be; many messages share it. */
export const lost: Message.TextPart = Object.freeze(Message.text("[a file is missing here: it cannot be sent]"))

/** What is wrong with a file and what to do, to follow the words "a file"; does not repeat its content. */
export const wrongIn = (file: Message.FilePart): string | undefined => {
  if (file.mediaType.trim() === "") return `without a media type; say what it is, such as "image/png"`
  if (isEmpty(file.data)) return "without data; give its content, or leave the part out"
  if (!Message.isAddress(file)) {
    return base64.test(file.data)
      ? undefined
      : "whose data is neither base64 nor an http(s) or data URL; give one of these"
  }
  return URL.canParse(file.data)
    ? undefined
    : "whose address is not a valid URL; correct the address, or give the file as base64"
}

/** The content of a data URL is what follows its comma, see RFC 2397. */
const isEmpty = (data: string): boolean =>
  /^data:/i.test(data) ? !/\S/.test(data.slice(data.indexOf(",") + 1 || data.length)) : !/\S/.test(data)

/** In either alphabet, with or without line breaks. */
const base64 = /^\s*[\w+/-][\w+/\s-]*(?:=\s*){0,2}$/
