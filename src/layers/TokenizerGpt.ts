/**
 * Counts with the tokenizers of OpenAI's models. Needs `gpt-tokenizer`, so the index of `fiberloop` does not export it:
 * `import * as TokenizerGpt from "fiberloop/layers/TokenizerGpt"`.
 *
 * Does not own the tokenizers of other makers' models, most of which are not public: for those this, too, is an estimate.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as InputCheck from "../run/InputCheck.ts"
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
 * not take. Counts a text as the package does, except that it is cut after 128 letters in a row, and after 512 characters in a row
 * that are neither letters nor digits, because the package's time grows with the square of such a run. Each cut may add one token.
 */
export const make = Effect.fnUntraced(function*(options: Options = {}): Effect.fn.Return<Tokenizer> {
  OptionCheck.options("TokenizerGpt", options, optionNames)
  OptionCheck.taken(InputCheck.oneOf("encoding", options.encoding, ["o200k_base", "cl100k_base"]))
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

/**
 * A piece of a text that the encodings merge is all letters, with their marks, or has neither letters nor digits; one sign before
 * letters, and an ending such as `'ll` behind them, are in it too. By whole characters, so no surrogate pair is cut.
 */
const tooLong = /[\p{L}\p{M}]{128}|[^\p{L}\p{N}]{512}/uy

/** The same, looked for where such a run begins only, or each of its characters would be tried. */
const tooLongLater = /(?<![\p{L}\p{M}])[\p{L}\p{M}]{128}|(?<![^\p{L}\p{N}])[^\p{L}\p{N}]{512}/gu

/** Where a run that began after `start` becomes too long, or the end of the text. */
const nextCut = (text: string, start: number): number => {
  tooLong.lastIndex = start
  if (tooLong.test(text)) return tooLong.lastIndex
  tooLongLater.lastIndex = start
  return tooLongLater.test(text) ? tooLongLater.lastIndex : text.length
}
