/** Prompts of conversations that grow, change and share their instructions with others. */
import { assert, describe, it } from "@effect/vitest"
import * as GrowingPrompt from "../../../src/layers/effectai/GrowingPrompt.ts"
import * as PromptMessages from "../../../src/layers/effectai/PromptMessages.ts"
import * as Message from "../../../src/run/Message.ts"

const system: Message.Message = { role: "system", content: "Be brief." }
const user = (text: string): Message.Message => ({ role: "user", content: [Message.text(text)] })
const assistant = (text: string): Message.Message => ({ role: "assistant", content: [Message.text(text)] })

const converted = (messages: ReadonlyArray<Message.Message>) => messages.map(PromptMessages.fromMessage)

describe("the prompt of a conversation", () => {
  const hello = user("hello")
  const hi = assistant("hi")

  it("reuses the messages of the previous prompt", () => {
    const promptOf = GrowingPrompt.make()
    const first = promptOf([system, hello])
    const second = promptOf([system, hello, hi, user("more")])
    assert.deepStrictEqual(second.content.slice(2), converted([hi, user("more")]))
    first.content.forEach((message, i) => assert.strictEqual(second.content[i], message))
  })

  it("leaves earlier prompts unchanged", () => {
    const promptOf = GrowingPrompt.make()
    const first = promptOf([hello])
    promptOf([hello, hi])
    assert.deepStrictEqual(first.content, converted([hello]))
  })

  it("matches its messages after some were replaced or removed", () => {
    const promptOf = GrowingPrompt.make()
    promptOf([system, hello, hi, user("more"), assistant("yes")])
    const pruned = [system, hello, assistant("..."), user("other")]
    assert.deepStrictEqual(promptOf(pruned).content, converted(pruned))
    assert.deepStrictEqual(promptOf([hello]).content, converted([hello]))
    assert.deepStrictEqual(promptOf([system]).content, converted([system]))
    assert.deepStrictEqual(promptOf([]).content, [])
  })

  it("matches its messages when the same array is changed", () => {
    const promptOf = GrowingPrompt.make()
    const messages = [hello]
    promptOf(messages)
    messages.push(hi)
    assert.deepStrictEqual(promptOf(messages).content, converted([hello, hi]))
    messages[1] = assistant("no")
    assert.deepStrictEqual(promptOf(messages).content, converted([hello, assistant("no")]))
  })

  it("is kept beside that of another conversation with the same instructions", () => {
    const promptOf = GrowingPrompt.make()
    const [first] = promptOf([system, hello, hi]).content.slice(1)
    promptOf([system, user("another")])
    assert.strictEqual(promptOf([system, hello, hi]).content[1], first)
  })
})
