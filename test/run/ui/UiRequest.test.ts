/** What the AI SDK's transport sends is read as a request to an agent, or refused. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as UiMessages from "../../../src/run/UiMessages.ts"

describe("what a page asks for", () => {
  const user = (...parts: ReadonlyArray<unknown>) => ({ id: "m1", role: "user", parts })

  it.effect("is its last message, by id, with its files", () =>
    Effect.gen(function*() {
      const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,aGk=", filename: "a.png" }
      const messages = [
        user({ type: "text", text: "before" }),
        user({ type: "text", text: "Hi" }, file, { type: "data-x", data: 1 })
      ]
      const input = {
        sessionId: "s",
        runId: "m1",
        input: [{
          role: "user",
          content: [
            { type: "text", text: "Hi" },
            { type: "file", mediaType: "image/png", data: "data:image/png;base64,aGk=", fileName: "a.png" }
          ]
        }]
      }
      const asked = { _tag: "Ask", sessionId: "s", input }
      assert.deepStrictEqual<unknown>(
        yield* UiMessages.request({ id: "s", messages, trigger: "submit-message" }),
        asked
      )
      assert.deepStrictEqual<unknown>(yield* UiMessages.request({ id: "s", message: messages[1] }), asked)
      const again = yield* UiMessages.request({ id: "s", messages, trigger: "regenerate-message" })
      assert.deepStrictEqual<unknown>(again, { ...asked, input: { ...input, runId: undefined } })
      // edited: what was said before has its id
      const edited = yield* UiMessages.request({ id: "s", messages, trigger: "submit-message", messageId: "m1" })
      assert.deepStrictEqual(edited, again)
    }))

  it.effect("is an answer to questions even if something was said since", () =>
    Effect.gen(function*() {
      const part = { type: "tool-work", state: "approval-responded", approval: { id: "r/1.0", approved: true } }
      const messages = [{ id: "r:answer", role: "assistant", parts: [part] }, user({ type: "text", text: "Well?" })]
      const request = yield* UiMessages.request({ id: "s", messages, trigger: "submit-message", messageId: "r:answer" })
      assert.deepStrictEqual<unknown>(request, {
        _tag: "Answer",
        sessionId: "s",
        decisions: [{ sessionId: "s", approvalId: "r/1.0", approved: true, reason: undefined }]
      })
    }))

  it.effect("is an answer to the questions of the named message only, with the reasons", () =>
    Effect.gen(function*() {
      const message = (id: string, approved: boolean) => ({
        id: `${id}:answer`,
        role: "assistant",
        parts: [{ type: "tool-work", state: "approval-responded", approval: { id, approved, reason: `${id} said` } }]
      })
      const messages = [message("a", true), message("b", false), user({ type: "text", text: "Well?" })]
      const request = yield* UiMessages.request({ id: "s", messages, messageId: "a:answer" })
      assert.deepStrictEqual<unknown>(request, {
        _tag: "Answer",
        sessionId: "s",
        decisions: [{ sessionId: "s", approvalId: "a", approved: true, reason: "a said" }]
      })
    }))

  it.effect("is its last message where no message has an id, even after an answer to a question", () =>
    Effect.gen(function*() {
      const part = { type: "tool-work", state: "approval-responded", approval: { id: "r/1.0", approved: true } }
      const content = [{ type: "text", text: "And now?" }]
      const messages = [{ role: "assistant", parts: [part] }, { role: "user", parts: content }]
      assert.deepStrictEqual<unknown>(yield* UiMessages.request({ id: "s", messages }), {
        _tag: "Ask",
        sessionId: "s",
        input: { sessionId: "s", runId: undefined, input: [{ role: "user", content }] }
      })
    }))

  it.effect("reads a file without a name, or with null for a name, as one without a name", () =>
    Effect.gen(function*() {
      const file = { type: "file", mediaType: "image/png", url: "https://a.test/a.png" }
      const request = yield* UiMessages.request({ id: "s", message: user(file, { ...file, filename: null }) })
      assert(request._tag === "Ask")
      const part = { type: "file", mediaType: "image/png", data: file.url }
      assert.deepStrictEqual<unknown>(request.input.input, [{ role: "user", content: [part, part] }])
    }))

  it.effect("is an answer to those questions that are answered and still open", () =>
    Effect.gen(function*() {
      const call = (id: string, state: string, approved?: boolean) => ({
        type: "tool-work",
        toolCallId: id,
        state,
        approval: { id, ...(approved === undefined ? {} : { approved }) }
      })
      const parts = [
        call("ran", "output-available", true),
        call("answered", "approval-responded", true),
        call("open", "approval-requested")
      ]
      const asked = yield* UiMessages.request({ id: "s", messages: [{ id: "r:answer", role: "assistant", parts }] })
      assert.deepStrictEqual<unknown>(asked, {
        _tag: "Answer",
        sessionId: "s",
        decisions: [{ sessionId: "s", approvalId: "answered", approved: true, reason: undefined }]
      })
    }))

  it.effect("is the results it gives in place of the tools in its last step", () =>
    Effect.gen(function*() {
      const call = (toolCallId: string, type: string, more: object) => ({ type, toolCallId, input: {}, ...more })
      const parts = [
        { type: "step-start" },
        call("1.0", "tool-ask", { state: "output-available", output: "before" }),
        { type: "step-start" },
        call("r/1/2.0", "tool-ask", { state: "output-available", output: { a: [1] } }),
        // as pages used to have it
        call("2.1", "tool-ask", { state: "output-available" }),
        call("2.2", "tool-ask", { state: "output-error", errorText: "no idea" }),
        call("2.3", "tool-ask", { state: "input-available" }),
        // a reason that is not text, and a call that nobody knows
        call("2.5", "tool-ask", { state: "output-error", errorText: { no: "words" } }),
        { type: "tool-ask", state: "output-available", output: "of no call" },
        call("2.4", "tool-work", { state: "output-available", output: "its own" })
      ]
      const body = { id: "s", messages: [{ id: "r/1:answer", role: "assistant", parts }] }
      assert.deepStrictEqual<unknown>(yield* UiMessages.request(body, { answers: ["ask"] }), {
        _tag: "Answer",
        sessionId: "s",
        decisions: [
          { sessionId: "s", approvalId: "r/1/2.0", tool: "ask", approved: true, result: { a: [1] } },
          { sessionId: "s", approvalId: "r/1/2.1", tool: "ask", approved: true, result: null },
          { sessionId: "s", approvalId: "r/1/2.2", tool: "ask", approved: false, reason: "no idea" },
          { sessionId: "s", approvalId: "r/1/2.5", tool: "ask", approved: false, reason: undefined }
        ]
      })
      const error = yield* Effect.flip(UiMessages.request(body))
      assert.include(error.message, "answers no question")
      const others = { id: "s", messages: [{ id: "x", role: "assistant", parts }] }
      assert.include((yield* Effect.flip(UiMessages.request(others, { answers: ["ask"] }))).message, "no question")
    }))

  it.effect.each<readonly [body: unknown, message: string]>([
    [undefined, "is not a chat request"],
    [{ id: "s" }, "must end with a user message"],
    [{ id: "s", messages: [] }, "must end with a user message"],
    [{ id: "s", messages: [{ id: "x", role: "system", parts: [] }] }, "must end with a user message"],
    [{ messages: [user()] }, "is not a chat request"],
    [{ id: "s", messages: [user({ type: "file", mediaType: "image/png" })] }, `has a part of type "file"`],
    [{ id: "s", messages: [user({ type: "file", url: "https://a.test/a.png" })] }, `has a part of type "file"`],
    [
      { id: "s", messages: [user({ type: "reasoning-file", mediaType: "image/png", url: "https://a.test/a.png" })] },
      `has a part of type "reasoning-file"`
    ],
    [{ id: "s", messages: [user({ type: "text" })] }, `has a part of type "text"`],
    [{ id: "s", messages: [user({ type: "reasoning", text: "hm" })] }, `has a part of type "reasoning"`],
    [{ id: "s", messages: [user({ type: "tool-x" })] }, `has a part of type "tool-x"`],
    [
      {
        id: "s",
        messages: [{
          role: "assistant",
          parts: [{ type: "tool-x", state: "approval-responded", approval: { id: "q" } }]
        }]
      },
      "ends with an assistant message that answers no question"
    ],
    [
      { id: "s", messages: [{ role: "assistant", parts: [{ type: "text", text: "x" }] }] },
      "ends with an assistant message that answers no question"
    ]
  ])("is refused if it is none of these: %j", ([body, message]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(UiMessages.request(body))
      assert.deepInclude(error.reason, { _tag: "InvalidInput", field: "body" })
      assert.include(error.message, `the body ${message}`)
    }))
})
