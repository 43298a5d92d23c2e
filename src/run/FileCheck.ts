/** Whether a file can be sent: a provider refuses one that cannot, and refuses it again with every later request. */
import * as FileData from "./FileData.ts"
import * as Message from "./Message.ts"

/** What is sent instead of a file that cannot be; many messages share it. */
export const lost: Message.TextPart = Object.freeze(Message.text("[a file is missing here: it cannot be sent]"))

/** What is wrong with a file and what to do, to follow the words "a file"; does not repeat its content. */
export const wrongIn = ({ data, mediaType }: Message.FilePart): string | undefined => {
  if (mediaType.trim() === "") return `without a media type; say what it is, such as "image/png"`
  const held = FileData.held(data)
  if (!/\S/.test(held?.content ?? data)) return "without data; give its content, or leave the part out"
  if (!FileData.isAddress(data)) {
    return FileData.isBase64(data)
      ? undefined
      : "whose data is neither base64 nor an http(s) or data URL; give one of these"
  }
  if (!URL.canParse(data)) return "whose address is not a valid URL; correct the address, or give the file as base64"
  return held?.mediaType === undefined || FileData.isBase64(held.content)
    ? undefined
    : "whose data URL says base64 and holds none; encode its content again"
}
