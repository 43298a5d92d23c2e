/**
 * Counts with the tokenizers of OpenAI's models. Needs `gpt-tokenizer`, so the index of `fiberloop` does not export it:
 * `import * as TokenizerGpt from "fiberloop/layers/TokenizerGpt"`.
 *
 * Does not own the tokenizers of other makers' models, most of which are not public: for those this, too, is an estimate.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Tokenizer } from "../services/Tokenizer.ts"
import * as OptionCheck from "./options/OptionCheck.ts"

export interface Options {
  /** `o200k_base` is for GPT-4o, GPT-4.1, GPT-5 and the o models, `cl100k_base` for GPT-4 and before. Default: `o200k_base`. */
  readonly encoding?: "o200k_base" | "cl100k_base" | undefined
}

const load = (encoding: "o200k_base" | "cl100k_base") =>
  encoding === "o200k_base" ? import("gpt-tokenizer/encoding/o200k_base") : import("gpt-tokenizer/encoding/cl100k_base")

/** Words such as `<|endoftext|>` are text here: a provider reads them as text in a message, and a count must not throw. */
const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }

const optionNames: Record<keyof Options, true> = { encoding: true }

/**
 * Loads the encoding, a few megabytes, when it is built; dies where the package is not installed, and of an option that it does
 * not have. Counts a text as the package does, except that a run of one kind of character (letters, white space, signs) longer
 * than 128 is counted 128 at a time, because the package's time grows with the square of a run. Each piece may add one token.
 */
export const make = Effect.fnUntraced(function*(options: Options = {}): Effect.fn.Return<Tokenizer> {
  OptionCheck.noOthers("TokenizerGpt", options, optionNames)
  const { clearMergeCache, countTokens } = yield* Effect.promise(() => load(options.encoding ?? "o200k_base"))
  return {
    count: (text) => {
      let tokens = 0
      let start = 0
      for (let end = nextCut(text, start); end !== start; start = end, end = nextCut(text, start)) {
        tokens += countTokens(start === 0 && end === text.length ? text : text.slice(start, end), plain)
      }
      // the package caches pieces of the text, which would keep all of it in memory
      clearMergeCache()
      return tokens
    }
  }
})

export const layerWith = (options: Options): Layer.Layer<never> => Layer.effect(Tokenizer, make(options))

export const layer: Layer.Layer<never> = layerWith({})

const longest = 128

/** Where a run of one kind after `start` becomes too long, or the end of the text. Never inside a surrogate pair. */
const nextCut = (text: string, start: number): number => {
  let run = 0
  let kind = -1
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const next = kindOf(code)
    if (next !== kind) {
      kind = next
      run = 0
    }
    if (++run > longest && (code & 0xfc00) !== 0xdc00) return i
  }
  return text.length
}

/** The encodings split a text into runs of one of these kinds at the longest, and digits by threes. */
const kindOf = (code: number): number => {
  if (code >= 0x80) return (code >= 0x2010 && code < 0x3040) || code >= 0xff00 ? 2 : 0
  if (code >= 48 && code <= 57) return 3
  if (code === 32 || (code >= 9 && code <= 13)) return 1
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122) ? 0 : 2
}
