import { assert, describe, it } from "@effect/vitest"
import * as OfflineModel from "../../../src/cli/offline/OfflineModel.ts"
import * as EndLine from "../../../src/cli/render/EndLine.ts"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as Render from "../../../src/cli/render/Render.ts"
import * as ToolLine from "../../../src/cli/render/ToolLine.ts"
import type * as RunError from "../../../src/run/RunError.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as Events from "../Events.ts"

interface Options {
  readonly isTerminal?: boolean
  readonly flags?: ReadonlyArray<string>
}

/** How events are shown: standard output as it is, lines on standard error marked with `!`. */
const shown = (events: ReadonlyArray<RunEvent.RunEvent>, { flags = [], isTerminal = true }: Options = {}): string => {
  let state = Render.initial
  let out = ""
  for (const event of events) {
    const [next, writes] = Render.step({ isTerminal, paint: Paint.plain, sessionId: "s-1", flags }, state, event)
    state = next
    for (const write of writes) out += write.to === "stdout" ? write.text : write.text.replace(/^(?=.)/gm, "! ")
  }
  return out
}

const end = "! ✓ completed · 2 turns · 1 tool call · 1.2 s · session s-1\n"

describe("on a terminal", () => {
  it("words appear as they arrive, and the last line is ended", () => {
    const deltas = Events.deltas(0, "Once ", "upon", " a time")
    assert.strictEqual(shown(deltas), "Once upon a time")
    assert.strictEqual(
      shown([...deltas, Events.message(Events.text("Once upon a time")), Events.completed]),
      `Once upon a time\n${end}`
    )
  })

  it("a tool call is a line of its own after the words", () => {
    assert.strictEqual(
      shown([
        ...Events.deltas(0, "Let me look."),
        Events.message(Events.text("Let me look."), Events.call("list_files", { pattern: "*" })),
        Events.started("list_files", { pattern: "*" }),
        Events.settled("list_files", { _tag: "Succeeded", result: { entries: [1, 2], total: 2 } }),
        ...Events.deltas(0, "Two."),
        Events.message(Events.text("Two."))
      ]),
      "Let me look.\n! ● list_files pattern=\"*\"  ✓ 2 files  12 ms\nTwo.\n"
    )
  })

  it("a question that is answered elsewhere does not vanish without a word", () => {
    const answer = (approved: boolean, by: string | undefined): RunEvent.RunEvent => ({
      _tag: "ApprovalResolved",
      seq: 1,
      at: 0,
      runId: "r",
      version: 1,
      callId: "1.0",
      approvalId: "q",
      approved,
      ...(by === undefined ? {} : { by })
    })
    const edited = { ...answer(true, "command"), params: {} }
    assert.strictEqual(
      shown([Events.asked("q"), edited]),
      "! ✓ t approved with edited arguments by command\n"
    )
    assert.strictEqual(shown([Events.asked("q"), answer(false, "ann")]), "! ✗ t denied by ann\n")
    assert.strictEqual(shown([Events.asked("q"), answer(false, undefined)]), "! ✗ t denied\n")
    assert.strictEqual(shown([Events.asked("q"), answer(true, "terminal"), answer(false, "no terminal")]), "")
  })

  it("missed words are taken from the settled message, once", () => {
    const [first, , third] = Events.deltas(0, "a", "b", "c")
    assert.strictEqual(shown([first!, third!, Events.message(Events.text("abc"))]), "abc\n")
    assert.strictEqual(shown([Events.message(Events.text("abc"))]), "abc\n")
  })

  it("words of interleaved blocks are shown once", () => {
    const [a, b, c] = Events.deltas(0, "one ", "three", "two ")
    const events = [a!, { ...b!, block: "1" }, c!, Events.message(Events.text("one two "), Events.text("three"))]
    assert.strictEqual(shown(events), "one threetwo \n")
  })

  it("words that the settled message changes are shown on a new line", () => {
    assert.strictEqual(shown([...Events.deltas(0, "abc"), Events.message(Events.text("xyz!"))]), "abc\nxyz!\n")
  })

  it("words joined for a slow reader are continued", () => {
    const joined = { ...Events.deltas(0, "abc")[0]!, count: 3 }
    assert.strictEqual(shown([joined, ...Events.deltas(3, "d"), Events.message(Events.text("abcd"))]), "abcd\n")
  })

  it("words of a discarded attempt are marked, and the next attempt begins on a new line", () => {
    assert.strictEqual(
      shown([...Events.deltas(0, "Once"), Events.discarded, Events.retry, ...Events.deltas(0, "Twice")]),
      "Once\n! ↻ the answer broke off there and does not count\n! ↻ the line was cut; trying again in 1.5 s\nTwice"
    )
  })

  it("an attempt that is repeated comes without the advice to try again", () => {
    for (const advice of ["try again later", "try again later; if that does not help, check the port", "try again"]) {
      const retry = { ...Events.retry, error: { _tag: "Network", message: `no answer; ${advice}` } } as const
      assert.strictEqual(shown([retry]), "! ↻ no answer; trying again in 1.5 s\n")
    }
  })

  it("repeated trouble is described once, until an answer arrives or the trouble changes", () => {
    const other = { ...Events.retry, error: { _tag: "Network", message: "no answer" } } as const
    const again = "! ↻ the same again; trying again in 1.5 s\n"
    assert.strictEqual(
      shown([Events.retry, Events.discarded, { ...Events.retry, delay: 2_100 }, Events.retry]),
      `! ↻ the line was cut; trying again in 1.5 s\n! ↻ the same again; trying again in 2.1 s\n${again}`
    )
    assert.strictEqual(
      shown([Events.retry, other, Events.retry, Events.message(), Events.retry], { isTerminal: false }),
      ["the line was cut", "no answer", "the line was cut", "the line was cut"]
        .map((why) => `! ↻ ${why}; trying again in 1.5 s\n`).join("")
    )
  })

  it("what a run is told along the way stands where its model reads it", () => {
    const message = { role: "user", content: [Events.text("shorter")] } as const
    const received: RunEvent.RunEvent = {
      _tag: "InputReceived",
      seq: 1,
      at: 0,
      runId: "r",
      version: 1,
      kind: "steer",
      messages: [message as never]
    }
    assert.strictEqual(shown([received]), "! > shorter\n")
  })

  it("a compaction is reported with how and why, a failed one with why not", () => {
    const at = { seq: 1, at: 0, runId: "r", version: 1 }
    const usage = { inputTokens: 8, outputTokens: 2 }
    const counts = { before: 20, after: 3, tokens: { before: 500, after: 80 } }
    const how = { strategy: "summary", cause: "overflow", upTo: 1, replacement: [], usage } as const
    assert.strictEqual(
      shown([
        { ...at, _tag: "ContextCompacted", ...counts, ...how },
        { ...at, _tag: "CompactionDiscarded", message: "no\nanswer", usage }
      ]),
      `! ↻ the conversation was shortened from 20 to 3 messages, about 500 to 80 tokens
!   by the strategy "summary" · the provider said that it was too long · 10 tokens (8 in, 2 out)
! ↻ an attempt to shorten the conversation failed: no answer · 10 tokens (8 in, 2 out)
`
    )
  })

  it("an attempt without words leaves no mark", () => {
    assert.strictEqual(shown([Events.discarded]), "")
  })

  it("control characters of the model and of tools are escaped, even if split between deltas", () => {
    assert.strictEqual(
      shown([
        ...Events.deltas(0, "\u001b", "[31m\r", "\nx\ud83d", "\ude00"),
        Events.message(Events.text("\u001b[31m\r\nx😀"))
      ]),
      "\\x1b[31m\nx😀\n"
    )
    assert.strictEqual(
      shown([Events.settled("a\u001b", { _tag: "Failed", result: "\u0007\nb" }, { callId: "9.9" })]),
      "! ● a\\x1b  ✗ \\x07 b  12 ms\n"
    )
  })
})

describe("anywhere else", () => {
  const pipe = (events: ReadonlyArray<RunEvent.RunEvent>) => shown(events, { isTerminal: false })

  it("standard output gets the settled answer, as it is", () => {
    const events = [...Events.deltas(0, "an", "swer"), Events.message(Events.text("\u001banswer"))]
    assert.strictEqual(pipe(events), "\u001banswer\n")
  })

  it.each([true, false])(
    "what an answer rests on is beneath it, and no part of it, on a terminal: %s",
    (isTerminal) => {
      const page = { type: "url", url: "https://a.test/", title: "A" } as const
      const events = [
        ...Events.deltas(0, "It rains."),
        { ...Events.message(Events.text("It rains.")), sources: [page] } as RunEvent.RunEvent
      ]
      assert.strictEqual(shown(events, { isTerminal }), "It rains.\n! · A https://a.test/\n")
    }
  )

  it("what is said on the way to a tool call goes to standard error", () => {
    assert.strictEqual(
      pipe([
        Events.message(Events.text("Let me \u001blook."), Events.call("t", {})),
        Events.message(Events.text("Done.\n"))
      ]),
      "! Let me \\x1blook.\nDone.\n"
    )
  })

  it("discarded words are not shown", () => {
    assert.strictEqual(
      pipe([...Events.deltas(0, "Once"), Events.discarded, Events.message(Events.text("Twice"))]),
      "Twice\n"
    )
  })

  it("a message without words writes nothing", () => {
    assert.strictEqual(pipe([Events.message(Events.call("t", {})), Events.message(Events.text(" \n"))]), "")
  })
})

describe("how a run ended", () => {
  it("tokens are shown if there are any", () => {
    const usage = { inputTokens: 1_000, outputTokens: 50 }
    assert.include(
      EndLine.line({ ...Events.completed, totals: Events.totals({ usage }) }, "s", Paint.plain),
      " · 1050 tokens (1000 in, 50 out) · "
    )
  })

  it("a run that can continue says how, with the flags it needs", () => {
    assert.strictEqual(
      shown([Events.aborted], { flags: ["--root", "my dog's"] }),
      "! ✗ aborted · 2 turns · 1 tool call · 1.2 s · session s-1\n! Go on with: fiberloop run --session s-1 --root 'my dog'\\''s'\n"
    )
    assert.include(shown([Events.limited]), "! ✗ stopped at the limit of turns · ")
    assert.include(shown([Events.limited]), "! Go on with: fiberloop run --session s-1 --max-turns 22\n")
    assert.notInclude(shown([Events.completed]), "Go on")
  })

  it("at a limit that no flag lifts, the session continues with a new task", () => {
    for (const reason of ["errors", "length"] as const) {
      const out = shown([{ ...Events.limited, reason } as RunEvent.RunEvent])
      assert.include(out, `! Go on with: fiberloop run --session s-1 "<task>"\n`)
    }
  })

  it("after a failure that would come again, the session continues with a new task", () => {
    const hopeless: ReadonlyArray<RunError.Stored["reason"]> = [
      { _tag: "ContextOverflow", message: "The prompt is too long" },
      { _tag: "ContentPolicy", message: "The prompt is not allowed" },
      { _tag: "InvalidRequest", message: OfflineModel.refusal }
    ]
    for (const reason of hopeless) {
      const out = shown([{ ...Events.failed, error: { _tag: "NonRetryableError", reason } } as RunEvent.RunEvent])
      assert.include(out, `! Go on with: fiberloop run --session s-1 "<task>"\n`)
    }
  })

  it("a failure is reported on one line, before the end", () => {
    assert.strictEqual(
      shown([...Events.deltas(0, "Well"), Events.failed]),
      "Well\n! fiberloop: the key is wrong; check OPENAI_API_KEY\n! ✗ failed · 2 turns · 1 tool call · 1.2 s · session s-1\n" +
        "! Go on with: fiberloop run --session s-1\n"
    )
  })

  it("tools left running are named", () => {
    assert.include(EndLine.line({ ...Events.aborted, leftBehind: ["slow"] }, "s", Paint.plain), "left running: slow")
  })
})

describe("a tool call's line", () => {
  const line = (tool: string, outcome: Parameters<typeof Events.settled>[1], originalSize?: number) =>
    ToolLine.settled(Events.settled(tool, outcome, originalSize === undefined ? {} : { originalSize }), {}, Paint.plain)
      .replace(/^● \w+ {2}| {2}12 ms$/g, "")

  it("says what the command's tools found", () => {
    const ok = (tool: string, result: any) => line(tool, { _tag: "Succeeded", result })
    assert.strictEqual(ok("list_files", { entries: [1], total: 1 }), "✓ 1 file")
    assert.strictEqual(ok("list_files", { entries: [1], total: 9 }), "✓ 1 of 9 files")
    assert.strictEqual(ok("search_text", { total: 0, files: 0 }), "✓ nothing found")
    assert.strictEqual(ok("search_text", { total: 3, files: 1 }), "✓ 3 lines of 1 file")
    assert.strictEqual(ok("read_file", { from: 1, to: 9, lines: 9 }), "✓ 9 lines")
    assert.strictEqual(ok("read_file", { from: 1, to: 8, lines: 9 }), "✓ lines 1-8 of 9")
    assert.strictEqual(ok("calculate", { result: "4" }), "✓ 4")
    assert.strictEqual(ok("run_command", { exitCode: 0, output: "a\nb\n" }), "✓ exit code 0, 2 lines")
    assert.strictEqual(ok("other", "short"), "✓ short")
    assert.strictEqual(ok("other", "x".repeat(100)), "✓ 100 characters")
    assert.strictEqual(ok("list_files", null), "✓ null")
    assert.strictEqual(ok("constructor", {}), "✓ {}")
  })

  it("says what went wrong, in words", () => {
    assert.strictEqual(line("t", { _tag: "Failed", result: { _tag: "E", message: "no such file" } }), "✗ no such file")
    assert.strictEqual(line("t", { _tag: "Failed", result: { code: 1 } }), "✗ {\"code\":1}")
    assert.strictEqual(line("t", { _tag: "TimedOut", limit: 5 }), "✗ Timed out after 5 ms.")
    assert.strictEqual(
      line("t", { _tag: "Interrupted" }),
      "✗ Interrupted: the run ended while this call was running; it may have taken effect. Check first."
    )
    assert.strictEqual(line("t", { _tag: "Succeeded", result: "x…" }, 45_000), "✓ cut, it has 45000 characters")
  })

  it("has its arguments shortened", () => {
    assert.strictEqual(ToolLine.call("t", { a: "b c", n: 1 }), "t a=\"b c\" n=1")
    assert.strictEqual(ToolLine.call("t", {}), "t")
    assert.strictEqual(ToolLine.call("t", "not {json"), "t \"not {json\"")
    assert.strictEqual(ToolLine.call("t", { a: "x".repeat(200) }).length, 72)
  })

  it("is coloured if colours are wanted", () => {
    assert.strictEqual(
      ToolLine.settled(Events.settled("t", { _tag: "Succeeded", result: 1 }), {}, Paint.coloured),
      "● t  \u001b[32m✓ 1\u001b[0m  \u001b[2m12 ms\u001b[0m"
    )
  })
})
