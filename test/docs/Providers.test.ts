/** The providers whose errors are distinguished: as many as README.md says, and those that are tested. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as ProviderAnswers from "../layers/ProviderAnswers.ts"

const root = join(import.meta.dirname, "../..")
const page = (path: string) => readFileSync(join(root, path), "utf8")

/** Those that docs/providers.md names. */
const named = (): ReadonlyArray<string> => {
  const [, names = ""] = /names and words \(([^)]*)\)/.exec(page("docs/providers.md")) ?? []
  return names.split(",").map((name) => name.trim())
}

const words = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen"]

it("the documented providers are as many as README.md says", () => {
  assert.include(page("README.md"), ` words of ${words[named().length - 13]} providers mean`)
})

it("the documented providers have tested answers, or are in a test of streams that break off", () => {
  const tested = new Set(ProviderAnswers.all.flatMap(({ provider }) => provider.split(" and ")))
  const streams = page("test/layers/OpenAiOddStreams.test.ts")
  assert.deepStrictEqual(named().filter((name) => !tested.has(name) && !streams.includes(`(${name})`)), [])
  assert.deepStrictEqual([...tested].filter((name) => name !== "any proxy" && !named().includes(name)), [])
})
