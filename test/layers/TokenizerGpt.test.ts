import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base"
import * as o200k from "gpt-tokenizer/encoding/o200k_base"
import { readdirSync, readFileSync } from "node:fs"
import * as TokenizerGpt from "../../src/layers/TokenizerGpt.ts"
import { Tokenizer } from "../../src/services/Tokenizer.ts"

const folder = new URL("../corpora/", import.meta.url)
const corpora = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"))

it.effect("counts what o200k_base counts", () =>
  Effect.gen(function*() {
    const { count } = yield* Tokenizer
    for (const text of ["", ...corpora]) assert.strictEqual(count(text), o200k.countTokens(text))
  }).pipe(Effect.provide(TokenizerGpt.layer)))

it.effect("counts what cl100k_base counts when told to", () =>
  Effect.gen(function*() {
    const { count } = yield* Tokenizer
    for (const text of corpora) assert.strictEqual(count(text), cl100k.countTokens(text))
  }).pipe(Effect.provide(TokenizerGpt.layerWith({ encoding: "cl100k_base" }))))

it.effect("counts the names of special tokens as plain text", () =>
  Effect.gen(function*() {
    const { count } = yield* TokenizerGpt.make()
    assert.isAbove(count("<|endoftext|>"), 3)
    assert.isAbove(count("before <|im_start|> after"), 5)
  }))

it.effect("counts text with half a character", () =>
  Effect.gen(function*() {
    const { count } = yield* TokenizerGpt.make()
    for (const text of ["\ud83c", "a\udf89b", "🎉\ud83c"]) assert.isAbove(count(text), 0)
  }))

it.effect("counts one long word in linear time, with hardly more tokens", () =>
  Effect.gen(function*() {
    const { count } = yield* TokenizerGpt.make()
    const short = "中".repeat(2_000)
    assert.isAtMost(count(short) - o200k.countTokens(short), Math.ceil(2_000 / 128))
    // in quadratic time these take a minute
    for (const letter of ["中", "a", "_", " ", "🎉"]) assert.isAbove(count(letter.repeat(60_000)), 300)
  }))

it.effect("counts signs and white space in a long row, of whatever kinds, in linear time, with hardly more tokens", () =>
  Effect.gen(function*() {
    const { count } = yield* TokenizerGpt.make()
    for (const row of ["\u00a0\n", "\u00a0 ", "😀!", "🟩|", "//\n", "!!\u0301", "a\u20d0", "aⱥ"]) {
      const short = row.repeat(600)
      assert.isAtMost(Math.abs(count(short) - o200k.countTokens(short)), Math.ceil(short.length / 128))
      // in quadratic time these take a minute
      assert.isAbove(count(row.repeat(30_000)), 300)
    }
  }))

it.effect("counts rows of signs that are just not too long in linear time", () =>
  Effect.gen(function*() {
    const { count } = yield* TokenizerGpt.make()
    // in time that is quadratic in a row this takes a minute
    assert.isAbove(count(`${"-".repeat(511)}a`.repeat(96_000)), 96_000)
  }))

it.effect("counts closing brackets, each on a line of its own, as the package does", () =>
  Effect.gen(function*() {
    const { count } = yield* TokenizerGpt.make()
    const nested = Array.from({ length: 12 }, (_, depth) => `${"    ".repeat(11 - depth)}}`).join("\n")
    assert.strictEqual(count(nested), o200k.countTokens(nested))
  }))

it.effect("does not cut a character in two", () =>
  Effect.gen(function*() {
    const { count } = yield* TokenizerGpt.make()
    const text = `x${"🂡".repeat(640)}`
    assert.strictEqual(count(text), o200k.countTokens(text))
  }))
