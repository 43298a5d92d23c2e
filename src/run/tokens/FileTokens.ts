/**
 * How many tokens a file is: images by their size in pixels, the rest by media type and bytes. Providers differ, and
 * some document it for images only, so it is the larger of what is known.
 *
 * Does not own text: a text file is estimated by its bytes, since it may be megabytes of base64.
 */
import * as FileData from "../FileData.ts"
import type * as Message from "../Message.ts"
import * as Base64 from "./Base64.ts"
import * as ImageSize from "./ImageSize.ts"

/** An image whose size is not known: one of 1.2 megapixels, the largest that most models do not scale down. */
const unknownImage = 1_600

/** A page of a document: its text and its image (https://platform.claude.com/docs/en/build-with-claude/pdf-support). */
const page = 3_000

/** When a document does not say how many pages it has: one page for this many bytes. */
const pageBytes = 75_000

/**
 * Tokens of a file, a whole number of at least 1. An address costs as much as a file of its kind whose size is not
 * known.
 */
export const tokens = (file: Message.FilePart): number => {
  const [kind, subtype] = split(file.mediaType)
  const base64 = content(file.data)
  if (base64 === undefined) return kind === "image" ? unknownImage : page
  if (kind === "image") {
    const size = ImageSize.read(base64)
    return size === undefined ? unknownImage : image(size)
  }
  const bytes = Base64.size(base64)
  if (subtype === "pdf") return page * Math.max(1, Math.ceil(bytes / pageBytes))
  // Gemini counts 32 a second of sound and 263 of video (https://ai.google.dev/gemini-api/docs/tokens)
  if (kind === "audio" || kind === "video") return Math.max(100, Math.ceil(bytes / 400))
  return Math.max(1, Math.ceil(bytes / 3))
}

/** Tokens of an image: the larger of what Anthropic and OpenAI count. */
const image = (size: ImageSize.ImageSize): number => Math.max(patches(size), tiles(size))

/**
 * Anthropic: one token for 28 by 28 pixels, of an image that is scaled down to 2576 pixels on its longer side and 3.75
 * megapixels; older models scale down to a third of that (https://platform.claude.com/docs/en/build-with-claude/vision;
 * formerly given as width * height / 750).
 */
const patches = ({ height, width }: ImageSize.ImageSize): number => {
  const scale = Math.min(1, 2576 / Math.max(width, height))
  return Math.min(4784, Math.ceil(width * scale / 28) * Math.ceil(height * scale / 28))
}

/**
 * OpenAI at high detail: 85, and 170 for every tile of 512 by 512 pixels, of an image that is scaled down to fit 2048
 * by 2048, then to 768 on its shorter side (https://platform.openai.com/docs/guides/images-vision, "Calculating
 * costs"). Models that count patches of 32 by 32 instead take at most 1536 of them, times a factor of up to 2.46.
 */
const tiles = ({ height, width }: ImageSize.ImageSize): number => {
  const fit = Math.min(1, 2048 / Math.max(width, height))
  const scale = fit * Math.min(1, 768 / (fit * Math.min(width, height)))
  return 85 + 170 * Math.ceil(width * scale / 512) * Math.ceil(height * scale / 512)
}

/** The media type in lower case, without parameters. */
const split = (mediaType: string): readonly [kind: string, subtype: string] => {
  const [kind = "", subtype = ""] = mediaType.toLowerCase().split(";", 1)[0]!.trim().split("/")
  return [kind, subtype]
}

/** The base64 of a file; `undefined` if `data` only says where the file is. */
const content = (data: string): string | undefined => FileData.isAddress(data) ? FileData.held(data)?.content : data
