/** What a provider repeats in part is redacted, and what it says itself is not. */
import { assert, describe, it } from "@effect/vitest"
import * as Echo from "../../../src/layers/provider/Echo.ts"

const prompt =
  "The patient is called Ada Byron, her token is aaaa-99990000 (ada@example.test), and it is her heart that fails."

const told = (said: string, ...sent: ReadonlyArray<string>) => Echo.redacting(() => sent)(said)

describe("of what was sent, a provider's words have", () => {
  it.each([
    ["no token", "bad value 'aaaa-99990000'.", "bad value '<redacted>'."],
    ["no address", "blocked: ada@example.test", "blocked: <redacted>"],
    ["no token in a path", "no users/aaaa-99990000", "no users/<redacted>"],
    ["no token in a name with points", "bad input.aaaa-99990000.value", "bad input.<redacted>.value"],
    ["no beginning", `too long: "${prompt.slice(0, 40)}..."`, `too long: "<redacted>..."`],
    ["no end", `too long: ...${prompt.slice(-40)}!`, "too long: ...<redacted>!"],
    ["no middle", `at ${prompt.slice(20, 52)}`, "at <redacted>"],
    ["no two parts", `${prompt.slice(0, 40)} ... ${prompt.slice(-40)}`, "<redacted> ... <redacted>"]
  ])("%s of it", (_, said, left) => {
    assert.strictEqual(told(said, prompt), left)
  })

  it("no part of it that is quoted", () => {
    const text = `{"note":"a line\nof mine, and \\"more\\" about Ada Byron's heart"}`
    for (const quoted of [text, JSON.stringify(text), JSON.stringify(JSON.stringify(text))]) {
      assert.notMatch(told(`no: ${quoted.slice(0, -8)}`, text), /mine|Ada|heart/)
    }
  })

  it("no part of any text, also of those that begin alike", () => {
    const texts = ["one", "two", "three"].map((name) =>
      `The customer that has called us is number ${name}, and that is all`
    )
    for (const text of texts) assert.strictEqual(told(`no: ${text.slice(0, -14)}`, ...texts), "no: <redacted>")
  })

  it("no part of it that is repeated more than once", () => {
    const part = prompt.slice(0, 40)
    assert.strictEqual(told([part, part, part].join(" | "), prompt), "<redacted> | <redacted> | <redacted>")
  })

  it("no excerpt at any place", () => {
    for (let at = 0; at + 32 <= prompt.length; at++) {
      assert.strictEqual(told(`<${prompt.slice(at, at + 32)}>`, prompt).replaceAll("<redacted>", ""), "<>", `at ${at}`)
    }
  })
})

describe("what a provider says itself", () => {
  it.each([
    "The model `gpt-5-mini` does not exist or you do not have access to it.",
    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    "messages.2.content.0: unexpected value; your limit resets on 2026-11-28"
  ])("is left as it is: %s", (said) => {
    const sent =
      `Does the model exist? Do you have access to it? Today is 2026-11-28; my token is aaaa-99990000. ${prompt}`
    assert.strictEqual(told(said, sent), said)
  })

  it("is searched in time that grows with what was sent, and with what is said", () => {
    const lines = `${"-".repeat(60)} ${"=".repeat(20)}\n`
    const sent = lines.repeat(20_000)
    assert.include(told(`so: ${"-".repeat(5_000)}, ${lines.repeat(50)}. Try again`, sent), "Try again")
  }, 5_000)
})
