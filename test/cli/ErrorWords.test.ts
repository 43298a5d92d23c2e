import { assert, describe, it } from "@effect/vitest"
import * as ErrorWords from "../../src/cli/ErrorWords.ts"
import * as RunError from "../../src/run/RunError.ts"

const message = "Something\n  happened"
const network = { _tag: "Network", message: "the line was cut" } as const

/** Each reason with the words that its line must contain. */
const reasons: ReadonlyArray<readonly [Parameters<typeof ErrorWords.ofReason>[0], string]> = [
  [{ _tag: "Authentication", message }, "something happened; check OPENAI_API_KEY"],
  [{ _tag: "QuotaExhausted", message }, "billing"],
  [{ _tag: "ContextOverflow", message }, "--session"],
  [{ _tag: "Unknown", message }, "something happened"],
  [{ _tag: "RetriesExhausted", message, last: network, attempts: 4 }, "the line was cut; given up after 4 attempts"],
  [
    { _tag: "SessionBusy", message, sessionId: "s" },
    "session \"s\" is busy with another run: wait for its end, end it with fiberloop abort"
  ],
  [{ _tag: "SessionNotFound", message, sessionId: "s" }, "there is no session \"s\""],
  [{ _tag: "ApprovalNotOpen", message, approvalId: "r/1.0", because: "settled" }, "something happened"],
  [{ _tag: "NothingToResume", message, sessionId: "s" }, "session \"s\" has no unfinished run"],
  [{ _tag: "AbortedBeforeStart", message, runId: "r" }, "the run was aborted before it began"],
  [{ _tag: "StaleWriter", message, sessionId: "s" }, "another process took over session \"s\""],
  [
    { _tag: "InvalidInput", message: "sessionId has 201 characters", field: "sessionId" },
    "--session has 201 characters"
  ],
  [{ _tag: "StoreRefused", message: "\"x\" is no database" }, "\"x\" is no database"]
]

describe("the message of an error", () => {
  for (const [reason, words] of reasons) {
    it(`${reason._tag} is one line with what to do`, () => {
      const line = ErrorWords.line(ErrorWords.ofReason(reason))
      assert.include(line, words)
      assert.match(line, /^fiberloop: [^\n]+$/)
    })
  }

  it("says when to try again: later, if the provider names no time to wait", () => {
    const givenUp = (retryAfter?: number) =>
      ErrorWords.ofReason({
        _tag: "RetriesExhausted",
        message,
        last: { ...network, ...(retryAfter === undefined ? {} : { retryAfter }) },
        attempts: 4
      }).split("; ")[1]
    assert.deepStrictEqual([givenUp(2_000), givenUp(0), givenUp()], [
      "given up after 4 attempts, try again in 2.0 s",
      "given up after 4 attempts, try again later",
      "given up after 4 attempts, try again later"
    ])
  })

  it("is safe to show", () => {
    assert.strictEqual(ErrorWords.line("The \u001b[31m end"), "fiberloop: the \\x1b[31m end")
  })

  it("exists for every error of a run", () => {
    assert.include(ErrorWords.ofRun(RunError.sessionBusy("s", "r")), "busy")
  })
})
