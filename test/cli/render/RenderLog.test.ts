import { assert, describe, it } from "@effect/vitest"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as RenderLog from "../../../src/cli/render/RenderLog.ts"
import * as AgentName from "../../../src/cli/session/AgentName.ts"
import type * as Message from "../../../src/run/Message.ts"
import type * as Source from "../../../src/run/Source.ts"
import * as Drafts from "../../support/Drafts.ts"

const started = (text: string) => ({ ...Drafts.started(text), agent: AgentName.own })

interface Options {
  readonly isFull?: boolean
  readonly isOpen?: boolean
}

/** The transcript of these events, without the first line and, unless `isOpen`, what is below the log. */
const shown = (drafts: ReadonlyArray<Drafts.Placed>, { isFull = false, isOpen = false }: Options = {}): string => {
  const look = { paint: Paint.plain, sessionId: "s-1", flags: ["--db", "my db"], isFull }
  let state = RenderLog.initial
  let out = ""
  for (const event of Drafts.log(...drafts)) {
    const [next, text] = RenderLog.step(look, state, event)
    state = next
    out += text
  }
  return isOpen ? out + RenderLog.finish(look, state) : out
}

/** What these events add after the start of a run. */
const added = (drafts: ReadonlyArray<Drafts.Placed>, options?: Options): string => {
  const start = started("go")
  return shown([start, ...drafts], options).slice(shown([start]).length)
}

const totals = { ...Drafts.totals, turns: 2, toolCalls: 1, duration: 1_500 }
const completed: Drafts.Placed = { _tag: "RunCompleted", reason: "stop", totals }
const text = (text: string): Message.TextPart => ({ type: "text", text })
const called = (name: string, params: Message.ToolCallPart["params"]) => Drafts.assistant([Drafts.call(name, params)])

describe("a transcript", () => {
  it("shows the time of a run even if it is beyond any calendar", () => {
    const late = Drafts.log(Drafts.started("go")).map((event) => ({ ...event, at: 8.64e15 + 1 }))
    const look = { paint: Paint.plain, sessionId: "s-1", flags: [], isFull: false }
    assert.include(RenderLog.step(look, RenderLog.initial, late[0]!)[1], "── run 1 · 8640000000000001 ms · run-1\n")
  })

  it("says where people are asked what a call waits for", () => {
    const calls = [called("research", { topic: "tides" }), Drafts.toolStarted("1.0", { topic: "tides" })]
    const waits = { ...Drafts.toolPaused("1.0", { sessionId: "lead//1.0", runId: "r" }), tool: "research" }
    const line = added([...calls, waits]).slice(added(calls).length)
    assert.strictEqual(line.trim(), `? research topic="tides" waits for what is asked in lead//1.0`)
  })

  it("shows a run from its input to its end", () => {
    assert.strictEqual(
      shown([
        Drafts.started("find it\nplease"),
        Drafts.turnStarted(1),
        Drafts.assistant([text("Let me look."), Drafts.call("search", { q: "it" })]),
        Drafts.toolStarted("1.0", { q: "it" }),
        Drafts.settled("1.0", "found", { duration: 12 }),
        Drafts.turnStarted(2),
        Drafts.assistant([text("There it is.")], { turn: 2 }),
        completed
      ]),
      `── run 1 · 1970-01-01 00:00:00 UTC · run-1
> find it
> please

· model test/model

Let me look.

● search q="it"  ✓ found  12 ms

There it is.

✓ The model finished its answer, after 2 turns and 1 tool call.
  2 turns · 1 tool call · 1.5 s
`
    )
  })

  it("ends with the totals of the session, counting each run once", () => {
    const usage = { inputTokens: 10, outputTokens: 5 }
    const limited: Drafts.Placed = { _tag: "RunLimited", reason: "turns", totals: { ...totals, usage } }
    const out = shown([
      started("a"),
      limited,
      Drafts.resumed(2),
      { ...completed, totals: { ...totals, usage } },
      { ...started("b"), runId: "run-2" },
      { ...limited, runId: "run-2" }
    ], { isOpen: true })
    assert.isTrue(
      out.endsWith(
        "\n── session s-1 · 2 runs · 4 turns · 2 tool calls · 30 tokens (20 in, 10 out) · 3.0 s\n" +
          "Go on with: fiberloop run --session s-1 --db 'my db' --max-turns 22\n"
      ),
      out
    )
  })

  it("counts what a call spent after its run ended in the session's total", () => {
    const crashed: Drafts.Placed = { _tag: "RunAborted", reason: "crashed", totals }
    const usage = { inputTokens: 10, outputTokens: 5 }
    const call = [Drafts.assistant([Drafts.call("search", {})]), Drafts.toolStarted("1.0", {})]
    const settled = Drafts.settled("1.0", { _tag: "Interrupted" }, { usage })
    const second = [{ ...started("b"), runId: "run-2" }, { ...completed, runId: "run-2" }]
    const out = shown([started("a"), ...call, crashed, settled, ...second], {
      isOpen: true
    })
    assert.include(out, " · 15 tokens (10 in, 5 out) · ")
  })

  it("shows what an answer had said that an end cut off", () => {
    const out = added([{ ...Drafts.aborted, unfinished: ["One,\n\u001b[31mtwo"] }])
    assert.include(out, "\nOne,\n\\x1b[31mtwo\n\n· cut off there\n\n✗ ")
  })

  it("says what is open if the run has not ended", () => {
    const out = added([called("search", { q: 1 })], { isOpen: true })
    assert.include(out, "● search q=1  … no outcome yet\n")
    assert.include(out, "The run has not ended")
  })

  it("has no totals for a run that has not ended, and says so beside those of others", () => {
    const open = [Drafts.assistant([Drafts.call("search", {})]), Drafts.settled("1.0", "x")]
    assert.include(added(open, { isOpen: true }), "\n── session s-1 · 1 run, not ended\n")
    const second = added([completed, { ...started("b"), runId: "run-2" }, ...open], { isOpen: true })
    assert.include(
      second,
      "\n── session s-1 · 2 runs · 2 turns · 1 tool call · 1.5 s, without the drive that has not ended\n"
    )
  })

  it("does not mention calls that have an outcome", () => {
    assert.notInclude(added([called("search", {}), Drafts.settled("1.0", "x")], { isOpen: true }), "no outcome")
  })

  it("does not mention open calls once the run has ended", () => {
    assert.notInclude(added([called("search", { q: 1 }), completed], { isOpen: true }), "no outcome")
  })

  describe("marks a compaction", () => {
    const usage = { inputTokens: 900, outputTokens: 100, cost: 0.0123 }
    const text = Array.from({ length: 6 }, (_, n) => `fact ${n}`).join("\n")
    const compacted = {
      ...Drafts.compacted(1, []),
      strategy: "summary",
      before: 20,
      after: 3,
      tokens: { before: 5_000, after: 800 },
      cause: "window",
      memory: { text },
      usage
    } as const

    it("with what it did, how, why, what it took, and the beginning of what is remembered", () => {
      assert.strictEqual(
        added([compacted]),
        `
↻ the conversation was shortened from 20 to 3 messages, about 5000 to 800 tokens
  by the strategy "summary" · it had more tokens than may be sent · 1000 tokens (900 in, 100 out) · cost 0.0123
    fact 0
    fact 1
    fact 2
    fact 3
    … 2 more lines; --full shows all
`
      )
    })

    it("with all that is remembered if everything is shown", () => {
      assert.include(added([compacted], { isFull: true }), "    fact 4\n    fact 5\n")
    })

    it("from an older log with what that log says", () => {
      const older = { ...Drafts.compacted(1, []), before: 20, after: 1 }
      assert.strictEqual(
        added([older]),
        "\n↻ the conversation was shortened from 20 to 1 message\n  by the strategy \"test\"\n"
      )
    })

    it("that only leaves out output", () => {
      const pruned = { ...compacted, strategy: "pruning", after: 20, cause: "manual", memory: undefined } as never
      assert.include(
        added([pruned]),
        "was shortened, all 20 messages stay, about 5000 to 800 tokens\n  by the strategy \"pruning\" · by hand"
      )
    })

    it("that failed, with why and what it took", () => {
      const failed = { _tag: "CompactionDiscarded", message: "the model\nsaid no", usage } as const
      const line = "↻ an attempt to shorten the conversation failed: the model said no · 1000 tokens (900 in, 100 out)"
      assert.include(added([failed]), `${line} · cost 0.0123\n`)
    })

    it("by hand after a run, whose cost counts in the session's total", () => {
      const out = shown([Drafts.started("go"), completed, compacted], { isOpen: true })
      assert.include(out, "1000 tokens (900 in, 100 out) · cost 0.0123 · 1.5 s\n")
    })
  })

  it("ends with how to decide, until every question has its answer", () => {
    const asked = [Drafts.approvalRequested("1.0"), Drafts.approvalRequested("1.1"), Drafts.suspended]
    const last = (...answers: ReadonlyArray<Drafts.Placed>) =>
      added([...asked, ...answers], { isOpen: true }).trimEnd().split("\n").at(-1)!
    assert.match(last(Drafts.approvalResolved("1.0")), /^Decide with: fiberloop approve s-1 /)
    assert.match(last(Drafts.approvalResolved("1.0"), Drafts.approvalResolved("1.1")), /^Decided; go on with: /)
  })

  it("says who approved and who denied, and why", () => {
    const out = added([
      called("search", { q: 1 }),
      Drafts.approvalRequested("1.0"),
      { ...Drafts.approvalResolved("1.0", false), by: "terminal", reason: "not\nnow" },
      { ...Drafts.approvalResolved("1.0"), by: "rule" }
    ])
    assert.strictEqual(
      out,
      "\n? search asks for approval\n✗ search denied by terminal: not now\n✓ search approved by rule\n"
    )
  })

  it("shows notices, resumptions, discarded attempts and model switches", () => {
    const to = { provider: "p", name: "n" }
    const out = added([
      Drafts.notice("go\non"),
      Drafts.resumed(2),
      Drafts.discarded(1, 1),
      { _tag: "ModelSwitched", turn: 1, from: Drafts.model, to }
    ])
    assert.strictEqual(
      out.trimStart(),
      "· the model was told: go on\n· resumed · 1970-01-01 00:00:00 UTC\n↻ an attempt does not count: busy\n" +
        "↻ going on with the model p/n\n"
    )
  })

  it("names the model only when it changes", () => {
    assert.strictEqual(added([Drafts.turnStarted(1), Drafts.turnStarted(2)]).trimStart(), "· model test/model\n")
  })

  it("shows what an answer rests on beneath it, the first few of many", () => {
    const pages = Array.from({ length: 12 }, (_, n) => ({ type: "url", url: `https://a.test/${n}` } as const))
    const rain = { type: "document", id: "d", title: "Rain\nfall", mediaType: "application/pdf" } as const
    const page = { type: "url", url: "https://b.test/\u001b", title: "B\u202e" } as const
    const said = (...sources: ReadonlyArray<Source.Source>): Drafts.Placed => ({
      ...Drafts.assistant([text("It rains.")]),
      sources: sources as Source.Sources
    })
    assert.strictEqual(
      added([said(page, rain, { ...rain, fileName: "rain.pdf" })]),
      "\nIt rains.\n\n· B\\u202e https://b.test/\\x1b\n· Rain fall application/pdf\n· Rain fall rain.pdf\n"
    )
    const lines = (isFull: boolean) => added([said(...pages)], { isFull }).trim().split("\n").slice(2)
    assert.deepStrictEqual(lines(false).slice(-2), ["· https://a.test/9", "· 2 more sources; --full shows all"])
    assert.deepStrictEqual(lines(true), pages.map(({ url }) => `· ${url}`))
  })

  it("shows what was said while the run was under way, and files by their names", () => {
    const file = { type: "file", mediaType: "image/png", data: "AA==", fileName: "a.png" } as const
    const received: Drafts.Placed = {
      _tag: "InputReceived",
      kind: "steer",
      messages: [{ role: "user", content: [text("stop"), file] }]
    }
    assert.strictEqual(added([received]), "\n> stop\n> [a.png, image/png]\n")
  })

  const queued = (...words: ReadonlyArray<string>): Drafts.Placed => ({
    _tag: "InputQueued",
    kind: "steer",
    messages: words.map((word) => ({ role: "user", content: [text(word)] }))
  })

  it("shows a queued message once, when it is delivered", () => {
    const received: Drafts.Placed = { ...queued("stop"), _tag: "InputReceived", queued: 2 } as never
    assert.strictEqual(added([queued("stop"), received]), "\n> stop\n")
    assert.notInclude(added([queued("stop"), received, completed]), "not delivered")
  })

  it("shows what was queued but not delivered, before the end that gave it up", () => {
    const out = added([queued("stop", "now"), completed])
    assert.include(out, "\n· not delivered:\n> stop\n> now\n✓ The model finished its answer")
  })

  it("shows what a shutdown gave up, and what waits for whoever goes on", () => {
    const shutDown: Drafts.Placed = { _tag: "RunAborted", reason: "shutdown", kept: [3], totals }
    const out = added([queued("stop"), queued("go on"), shutDown])
    assert.include(out, "\n· not delivered:\n> stop\n· waits to be delivered:\n> go on\n✗ The run was aborted")
  })

  it("shows what waits for delivery while the run has no end, or if its process died", () => {
    const crashed: Drafts.Placed = { _tag: "RunAborted", reason: "crashed", totals }
    assert.include(added([queued("stop")], { isOpen: true }), "· waits to be delivered:\n> stop\n")
    assert.notInclude(added([queued("stop"), crashed]), "not delivered")
  })

  it("shortens a result to a few lines, and says so", () => {
    const result = Array.from({ length: 9 }, (_, n) => `line ${n}`).join("\n")
    const out = added([called("search", {}), Drafts.settled("1.0", result)])
    assert.include(out, "    line 3\n    … 5 more lines; --full shows all\n")
    assert.notInclude(out, "line 4\n")
  })

  it("cuts long lines of a result", () => {
    const out = added([called("search", {}), Drafts.settled("1.0", "三".repeat(200))])
    assert.isTrue(out.split("\n").every((line) => line.length <= 70))
    assert.include(out, "    … 200 characters; --full shows all\n")
  })

  it("shows the beginning of a large JSON result on one line", () => {
    const result = { entries: Array.from({ length: 99 }, (_, n) => n) }
    const out = added([called("search", {}), Drafts.settled("1.0", { _tag: "Succeeded", result })])
    assert.match(out, /\n {4}\{"entries":\[0,1,2,[\d,]+…\n {4}… \d+ characters; --full shows all\n$/)
  })

  it.each([
    [
      "run_command",
      { exitCode: 0, durationMillis: 1, note: "Ended.", output: "a\n\u001b[31mb\n" },
      "a\n    \\x1b[31mb\n    Ended."
    ],
    ["edit_file", { path: "f", replacements: 1, diff: "@@ -1 +1 @@\n-a\n+b\n" }, "@@ -1 +1 @@\n    -a\n    +b"],
    ["read_file", { path: "f", lines: 2, from: 1, to: 2, text: "a\r\nb", truncated: false }, "a\n    b"],
    ["run_command", { exitCode: 0, durationMillis: 1, output: " \n" }, ""],
    ["read_file", { text: 1 }, ""]
  ])("shows what %s returned on separate lines", (tool, result, lines) => {
    for (const isFull of [false, true]) {
      const settled = Drafts.settled("1.0", { _tag: "Succeeded", result }, { tool })
      const [, line, ...below] = added([called(tool, {}), settled], { isFull }).split("\n")
      assert.match(line!, new RegExp(`^● ${tool}  ✓ `))
      assert.strictEqual(below.join("\n"), lines === "" ? "" : `    ${lines}\n`)
    }
  })

  it("shows full results, arguments and reasoning with --full", () => {
    const result = { lines: Array.from({ length: 9 }, (_, n) => `line ${n} ${"x".repeat(150)}`) }
    const params = { text: "y".repeat(200) }
    const out = added([
      Drafts.assistant([{ type: "reasoning", text: "hm" }, Drafts.call("search", params)]),
      Drafts.settled("1.0", { _tag: "Succeeded", result })
    ], { isFull: true })
    for (const words of ["\nhm\n", "line 8 xxx", "y".repeat(200)]) assert.include(out, words)
  })

  it("leaves out the reasoning without --full", () => {
    assert.strictEqual(added([Drafts.assistant([{ type: "reasoning", text: "hm" }])]), "")
  })

  it("shows a failed call with its reason", () => {
    const out = added([called("search", {}), Drafts.settled("1.0", { _tag: "Denied", reason: "too risky" })])
    assert.strictEqual(out, "\n● search  ✗ Denied: too risky  1 ms\n")
  })

  it("keeps the calls of two runs apart", () => {
    const run2 = { runId: "run-2" }
    const out = added([
      called("search", { q: "old" }),
      { ...Drafts.started("b"), ...run2 },
      { ...Drafts.settled("1.0", "x"), ...run2 }
    ])
    assert.notInclude(out, "old")
  })

  it("escapes control characters wherever they come from", () => {
    const evil = "\u001b[2J\u0007\u202e"
    const out = shown([
      { ...Drafts.started(evil), runId: evil },
      Drafts.assistant([text(evil), { type: "reasoning", text: evil }, Drafts.call(evil, { [evil]: evil })]),
      { ...Drafts.approvalRequested("1.0"), tool: evil, params: evil },
      { ...Drafts.approvalResolved("1.0"), by: evil, reason: evil },
      Drafts.settled("1.0", `${evil}\n${evil.repeat(99)}`, { tool: evil }),
      Drafts.notice(evil),
      { ...completed, leftBehind: [evil] }
    ], { isFull: true, isOpen: true })
    // oxlint-disable-next-line no-control-regex
    assert.notMatch(out, /[\u001b\u0007\u202e]/)
  })
})
