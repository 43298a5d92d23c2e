/**
 * Plays a session, move by move, into the log that it would leave. Tidy ones could have been written by a run of the
 * loop; odd ones have drives that died, calls that were never settled, and content that no provider should see.
 *
 * Keeps its own count of what runs use up, to compare `RunState` with.
 */
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Draft from "./Drafts.ts"
import { dice, models, texts } from "./Odd.ts"
import * as Parts from "./Parts.ts"

type Phase = "none" | "between" | "calling" | "tools" | "answered" | "ended"
type Input = Pick<Extract<RunEvent.Durable, { _tag: "InputQueued" }>, "kind" | "messages">
type Call = {
  readonly callId: string
  readonly tool: string
  phase: "pending" | "awaiting" | "started" | "paused"
  /** a person gave its result */
  isAnswered?: boolean
}

const add = (a: RunEvent.Totals["usage"], b: RunEvent.Totals["usage"]): RunEvent.Totals["usage"] => {
  const keys = [...Object.keys(a), ...Object.keys(b)] as Array<keyof typeof a>
  return Object.fromEntries(keys.map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)])) as typeof a
}

export class Player {
  readonly log: Array<RunEvent.Durable> = []
  readonly counted: Array<RunEvent.Totals> = []
  readonly #oddness: number
  #phase: Phase = "none"
  /** what waits to be received, by its place */
  #queue: Array<{ readonly seq: number; readonly input: Input }> = []
  #runs = 0
  #drive = 0
  #startedAt = 0
  #at = 1_700_000_000_000
  #attempt = 0
  #calls: Array<Call> = []
  #hasRun = false
  /** calls of this run that have an outcome */
  #settled: Array<Pick<Call, "callId" | "tool">> = []
  #end: RunEvent.End["_tag"] | undefined
  /** what was under way when a drive died */
  #died: Phase | undefined
  #totals = Draft.totals
  /** places where everything said before is settled */
  #cuts: Array<number> = []
  #taste: Parts.Taste

  constructor(oddness: number) {
    this.#oddness = oddness
    this.#taste = { dice: dice(0), oddness }
  }

  move(seed: number): void {
    this.#taste = { dice: dice(seed), oddness: this.#oddness }
    const { dice: d } = this.#taste
    const isOdd = d.chance(this.#oddness)
    if (this.#phase === "none") return this.#start()
    if (isOdd && d.chance(0.1)) return d.chance(0.5) ? this.#start() : this.#resume()
    if (this.#phase === "ended") {
      const asked = this.#end === "RunSuspended" ? this.#calls.find((call) => call.phase === "awaiting") : undefined
      if (asked !== undefined && d.chance(0.5)) return this.#resolve(asked)
      return this.#end === "RunCompleted" || d.chance(0.4) ? this.#start() : this.#resume()
    }
    if (d.chance(0.12)) return this.#say()
    if (d.chance(0.06)) return this.#queueInput()
    if (d.chance(0.05)) return this.#write({ _tag: "AbortRequested", reason: "requested" })
    if (d.chance(0.03)) return this.#die()
    switch (this.#phase) {
      case "between":
        if (d.chance(0.08)) return this.#compact()
        return d.chance(0.15) ? this.#stop() : this.#startTurn()
      case "calling":
        if (d.chance(0.1)) return this.#discard()
        if (d.chance(0.05)) return this.#compact()
        if (d.chance(0.05)) return this.#switch()
        return d.chance(0.08) ? this.#stop() : this.#answer()
      case "tools":
        return d.chance(0.06) ? this.#stop() : this.#work()
      case "answered":
        return d.chance(0.04) ? this.#stop() : this.#finishTurn()
    }
  }

  #write(draft: RunEvent.Draft): void {
    this.#at += this.#taste.dice.int(50)
    const base = { seq: this.log.length + 1, at: this.#at, runId: `run-${this.#runs}`, version: RunEvent.version }
    this.log.push({ ...draft, ...base } as RunEvent.Durable)
    this.counted.push(this.#totals)
  }

  #count(change: Partial<RunEvent.Totals>): void {
    this.#totals = { ...this.#totals, ...change }
  }

  #start(): void {
    const staysOpen = this.#end === "RunSuspended" || this.#died !== undefined
    if (staysOpen && !this.#taste.dice.chance(this.#oddness)) this.#settleAll()
    if (!this.#taste.dice.chance(this.#oddness)) this.#receive()
    this.#queue = []
    this.#died = undefined
    this.#runs++
    this.#drive = 1
    this.#end = undefined
    this.#totals = Draft.totals
    this.#calls = []
    this.#settled = []
    this.#phase = "between"
    const seq = this.log.length + 1
    const input = Parts.input(this.#taste, `${seq}`, seq === 1)
    this.#write({ _tag: "RunStarted", agent: "assistant", instructions: "00", input })
    this.#startedAt = this.#at
  }

  #resume(): void {
    this.#drive++
    this.#end = undefined
    const isAnswered = this.#died === "tools" || this.#died === "answered"
    this.#phase = isAnswered ? this.#died! : this.#calls.length > 0 ? "tools" : "between"
    this.#died = undefined
    this.#write({ _tag: "RunResumed", drive: this.#drive, cause: "resume" })
    this.#startedAt = this.#at
  }

  #say(): void {
    const { dice: d } = this.#taste
    const mark = `${this.log.length + 1}`
    if (d.chance(0.1)) return this.#write({ _tag: "NoticeAdded", kind: "doomLoop", text: mark, loop: this.#loop() })
    if (d.chance(0.3)) {
      const words = d.chance(this.#oddness) ? d.pick(texts) : `notice ${mark}`
      return this.#write({ _tag: "NoticeAdded", kind: d.pick(["length", "resume", "limit"] as const), text: words })
    }
    this.#write({ _tag: "InputReceived", ...this.#input(mark) })
  }

  #input(mark: string): Input {
    const { dice: d } = this.#taste
    const messages = Array.from({ length: 1 + d.int(2) }, (_, i) => ({
      role: "user" as const,
      content: Parts.userContent(this.#taste, `${mark}.${i}`)
    }))
    return { kind: d.pick(["steer", "followUp"] as const), messages }
  }

  #queueInput(): void {
    const seq = this.log.length + 1
    const input = this.#input(`${seq}`)
    this.#queue.push({ seq, input })
    this.#write({ _tag: "InputQueued", ...input })
  }

  #receive(): void {
    for (const { input, seq } of this.#queue) this.#write({ _tag: "InputReceived", ...input, queued: seq })
    this.#queue = []
  }

  /** The last calls, as if they had been made over and over. */
  #loop() {
    const { dice: d } = this.#taste
    return { count: 3, calls: this.#settled.slice(-1 - d.int(2)).map((call) => ({ ...call, params: "{}" })) }
  }

  #startTurn(): void {
    if (this.#taste.dice.chance(0.8)) this.#receive()
    this.#cuts.push(this.log.length)
    this.#attempt = 1
    this.#phase = "calling"
    const model = this.#taste.dice.pick(models)
    const turn = this.#totals.turns + 1
    const tools = this.#taste.dice.chance(0.1) ? { tools: ["search", "pay"] } : {}
    this.#write({ _tag: "TurnStarted", turn, model, promptSeq: this.log.length, inputDigest: "11", ...tools })
  }

  #discard(): void {
    const usage = Parts.usage(this.#taste)
    this.#count({ errors: this.#totals.errors + 1, usage: add(this.#totals.usage, usage) })
    const turn = this.#totals.turns + 1
    const error = Parts.providerError(this.#taste)
    this.#write({ _tag: "AttemptDiscarded", turn, attempt: this.#attempt++, error, usage })
  }

  #switch(): void {
    const [from, to] = models
    this.#write({ _tag: "ModelSwitched", turn: this.#totals.turns + 1, from: from!, to: to! })
  }

  #compact(): void {
    const { dice: d } = this.#taste
    const usage = Parts.usage(this.#taste)
    const upTo = d.chance(this.#oddness) ? d.int(this.log.length + 1) : d.pick(this.#cuts) ?? 0
    this.#count({ compactions: this.#totals.compactions + 1, usage: add(this.#totals.usage, usage) })
    this.#phase = "between"
    const replacement = Parts.replacement(this.#taste, `${upTo}`)
    // by the place, so that the numbers that follow are the same with it and without
    const lost = this.log.length % 3 === 0 ? { lost: { retries: this.log.length % 2, lostTime: 7 } } : {}
    this.#write({ _tag: "ContextCompacted", strategy: "test", upTo, replacement, before: 9, after: 3, usage, ...lost })
  }

  #answer(): void {
    const { dice: d } = this.#taste
    const turn = this.#totals.turns + 1
    const content = Parts.assistantContent(this.#taste, `${this.log.length + 1}`)
    const usage = Parts.usage(this.#taste)
    const calls = content.filter((part) => part.type === "tool-call" && part.providerExecuted !== true)
    this.#hasRun = false
    this.#calls = calls.map((part, i) => ({
      callId: `${turn}.${i}`,
      tool: "name" in part ? part.name : "",
      phase: "pending"
    }))
    this.#count({ turns: turn, usage: add(this.#totals.usage, usage) })
    this.#phase = calls.length > 0 ? "tools" : "answered"
    this.#write({
      _tag: "AssistantMessage",
      turn,
      attempt: this.#attempt,
      message: { role: "assistant", content },
      finishReason: d.pick(RunEvent.FinishReason.literals),
      model: d.pick(models),
      usage
    })
  }

  #work(): void {
    const { dice: d } = this.#taste
    if (this.#calls.length === 0) return this.#finishTurn()
    const call = d.pick(this.#calls)
    const { callId, tool } = call
    const turn = this.#totals.turns
    const waits = this.#calls.every(({ phase }) => phase === "awaiting" || phase === "paused")
    if (waits && d.chance(0.6)) return this.#finish("RunSuspended")
    if (call.phase === "awaiting") return this.#resolve(call)
    if (call.phase === "started" && d.chance(0.2)) {
      call.phase = "paused"
      const waitsFor = [{ sessionId: `below ${callId}`, runId: `below ${callId}` }]
      const beside = d.chance(0.5) ? [] : [{ sessionId: `beside ${callId}`, runId: `beside ${callId}` }]
      return this.#write({ _tag: "ToolPaused", turn, callId, tool, waitsFor, beside, duration: 7 })
    }
    if (call.phase === "paused" && d.chance(0.7)) {
      call.phase = "started"
      return this.#write({ _tag: "ToolStarted", turn, callId, tool, params: {} })
    }
    if (call.phase === "pending" && d.chance(0.7)) {
      if (d.chance(0.5)) {
        call.phase = "awaiting"
        call.isAnswered = false
        return this.#write({
          _tag: "ApprovalRequested",
          turn,
          callId,
          tool,
          approvalId: callId,
          params: d.chance(0.2) ? { q: "as a hook changed it" } : {},
          digest: "22",
          ...(d.chance(0.3) ? { expiresAt: this.#at + d.int(1000) } : {})
        })
      }
      call.phase = "started"
      return this.#write({ _tag: "ToolStarted", turn, callId, tool, params: {} })
    }
    this.#settle(call, Parts.outcome(this.#taste))
  }

  #resolve(call: Call): void {
    const { dice: d } = this.#taste
    const { callId } = call
    call.phase = "pending"
    const params = d.chance(0.2) ? { params: Parts.params(this.#taste) } : {}
    const approved = d.chance(0.7)
    call.isAnswered = approved && params.params === undefined && d.chance(0.2)
    const result = call.isAnswered ? { result: Parts.params(this.#taste) } : {}
    this.#write({ _tag: "ApprovalResolved", callId, approvalId: callId, approved, by: "ann", ...params, ...result })
  }

  #settle(call: Call, outcome: ReturnType<typeof Parts.outcome>): void {
    const { callId, tool } = call
    this.#calls = this.#calls.filter((open) => open !== call)
    this.#settled.push({ callId, tool })
    const usage = this.#taste.dice.chance(0.1) ? Parts.usage(this.#taste) : undefined
    const isAnswered = call.phase === "pending" && call.isAnswered === true && outcome._tag !== "NotExecuted"
    const hasStarted = call.phase === "started" || call.phase === "paused"
    const isMade = hasStarted || isAnswered
    if (isMade) this.#hasRun = true
    const { errors, toolCalls, toolRounds, turns } = this.#totals
    this.#count({
      toolCalls: toolCalls + (isMade ? 1 : 0),
      toolRounds: toolRounds + (this.#calls.length === 0 && this.#hasRun ? 1 : 0),
      errors: errors + (outcome._tag === "Failed" || outcome._tag === "TimedOut" ? 1 : 0),
      usage: usage === undefined ? this.#totals.usage : add(this.#totals.usage, usage)
    })
    this.#write({
      _tag: "ToolSettled",
      turn: turns,
      callId,
      tool,
      outcome,
      duration: 7,
      ...(call.phase === "started" && this.#taste.dice.chance(0.2) ? { edited: Parts.params(this.#taste) } : {}),
      ...(usage === undefined ? {} : { usage }),
      ...(call.phase === "pending" && this.#taste.dice.chance(0.1) ? { hook: "rule" } : {})
    })
  }

  #settleAll(): void {
    for (const call of this.#calls) this.#settle(call, { _tag: "Denied", reason: "superseded" })
  }

  #finishTurn(): void {
    const { dice: d } = this.#taste
    const isPaused = this.#phase === "answered" && d.chance(0.3)
    const reason = isPaused ? "pause" : this.#queue.length > 0 ? "followUp" : "toolCalls"
    this.#phase = "between"
    this.#write({
      _tag: "TurnFinished",
      turn: this.#totals.turns,
      finishReason: "stop",
      latency: { firstPart: 1, model: 2, tools: 3 },
      attempts: this.#attempt,
      usage: Draft.totals.usage,
      decision: { _tag: "Continue", reason },
      ...(d.chance(0.1) ? { hooks: [{ hook: "rule", on: "beforeToolCall", calls: 2, duration: 5 }] } : {})
    })
    if (d.chance(0.25)) this.#finish("RunCompleted")
  }

  /** An end that comes from outside: open calls get their outcome first, or in an odd log never. */
  #stop(): void {
    const { dice: d } = this.#taste
    if (!d.chance(this.#oddness)) {
      for (const call of this.#calls) {
        this.#settle(
          call,
          call.phase === "started" || call.phase === "paused"
            ? { _tag: "Interrupted" }
            : { _tag: "NotExecuted", reason: "aborted" }
        )
      }
    }
    this.#finish(d.pick(["RunLimited", "RunFailed", "RunAborted"] as const))
  }

  /** The end that the next drive writes: everything open stays open. */
  #die(): void {
    this.#died = this.#phase
    this.#phase = "ended"
    this.#end = "RunAborted"
    this.#count({ duration: this.#totals.duration + this.#at - this.#startedAt })
    this.#write({ _tag: "RunAborted", reason: "crashed", totals: this.#totals })
  }

  #finish(tag: RunEvent.End["_tag"]): void {
    this.#phase = "ended"
    this.#end = tag
    this.#count({ duration: this.#totals.duration + this.#at - this.#startedAt })
    const end = Parts.end(this.#taste, tag, this.#totals)
    if ("totals" in end) this.#count({ usage: end.totals.usage })
    if (isKeeping(end)) return this.#keep(end)
    if (!(end._tag === "RunAborted" && end.reason === "crashed")) this.#queue = []
    this.#write(end._tag === "RunLimited" && this.#taste.dice.chance(0.2) ? { ...end, loop: this.#loop() } : end)
  }

  /** Most of what waits is kept. */
  #keep(end: RunEvent.Draft): void {
    this.#queue = this.#queue.filter(() => this.#taste.dice.chance(0.7))
    const kept = this.#queue.map(({ seq }) => seq)
    this.#write(kept.length > 0 ? { ...end, kept } as RunEvent.Draft : end)
  }
}

/** An end that a drive wrote itself, of a run that goes on. */
const isKeeping = (end: RunEvent.Draft): boolean =>
  (end._tag === "RunAborted" && end.reason === "shutdown") ||
  (end._tag === "RunFailed" && end.error.reason._tag === "StoreUnavailable")
