/** What the pages promise to those who come from other tools, where no example and no test of a part shows it. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import {
  Agent,
  Approver,
  Fiberloop,
  type Hook,
  Message,
  Model,
  NeedsResult,
  Prices,
  Sessions,
  SessionStore,
  SessionStoreMemory,
  StopWhen,
  ToolCall,
  Transcript
} from "../../src/index.ts"
import type { ModelPart } from "../../src/services/Model.ts"
import { ScriptedModel } from "../../src/testing/index.ts"
import * as RunLog from "../support/RunLog.ts"

const below = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns))

const logOf = (sessionId: string) => SessionStore.use((store) => Stream.runCollect(store.read(sessionId)))

const requests = Effect.flatMap(ScriptedModel.Script, (script) => script.requests)

describe("docs/coming-from.md, different by default", () => {
  const Pages = Toolkit.make(
    Tool.make("read_page", { parameters: Schema.Struct({ page: Schema.Finite }), success: Schema.String })
  )
  const PagesLive = Pages.toLayer({ read_page: ({ page }) => Effect.succeed(`This is page ${page}.`) })
  const read = (page: number) => ScriptedModel.call("read_page", { page })

  it.effect("one turn with its calls is a stopWhen that always stops; maxTurns: 1 ends before they run", () =>
    Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Read.", toolkit: Pages, stopWhen: () => true })
      const limited = yield* Agent.make({ instructions: "Read.", toolkit: Pages, limits: { maxTurns: 1 } })
      const ends = [
        yield* agent.run({ sessionId: "stopped", input: "Go." }),
        yield* limited.run({ sessionId: "limited", input: "Go." })
      ]
      assert.deepStrictEqual(ends.map(({ _tag }) => _tag), ["Completed", "Limited"])
      assert.deepStrictEqual(RunLog.outcomes(yield* logOf("stopped")), ["1.0 Succeeded"])
      assert.deepStrictEqual(RunLog.outcomes(yield* logOf("limited")), ["1.0 NotExecuted(limit)"])
      assert.lengthOf(yield* requests, 2)
    }).pipe(Effect.provide(Layer.provideMerge(PagesLive, below(read(1), read(1))))))

  it.effect("messages that a hook leaves out of one model call are in the next one again", () =>
    Effect.gen(function*() {
      const prunes: Hook = {
        name: "prunes",
        beforeModelCall: ({ messages, turn }) =>
          Effect.succeed(turn === 3 ? { messages: [...messages.slice(0, 2), ...messages.slice(-2)] } : {})
      }
      const agent = yield* Agent.make({ instructions: "Read.", toolkit: Pages, hooks: [prunes] })
      yield* agent.run({ input: "Go." })
      assert.deepStrictEqual((yield* requests).map(({ messages }) => messages.length), [2, 4, 4, 8])
    }).pipe(Effect.provide(Layer.provideMerge(PagesLive, below(read(1), read(2), read(3), ScriptedModel.text("x"))))))

  it.effect("a run that stopWhen ended is not resumed, but a fork at the end of its last turn is, without new words", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      const agent = yield* Agent.make({ instructions: "Read.", toolkit: Pages, stopWhen: () => true })
      yield* agent.run({ sessionId: "book", input: "Go." })
      const { reason } = yield* Effect.flip(agent.resumeRun({ sessionId: "book" }))
      assert.strictEqual(reason._tag, "NothingToResume")
      const turn = RunLog.only(yield* logOf("book"), "TurnFinished").at(-1)
      yield* store.fork("book", { to: "book~2", at: turn!.seq })
      const result = yield* agent.resumeRun({ sessionId: "book~2" })
      assert.deepStrictEqual([result._tag, result.text, result.turns], ["Completed", "A cat.", 2])
    }).pipe(Effect.provide(Layer.provideMerge(PagesLive, below(read(1), ScriptedModel.text("A cat."))))))

  it.effect("a fork says nowhere what it is a copy of, except in the id that it was given", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      const agent = yield* Agent.make({ instructions: "Read." })
      yield* agent.run({ sessionId: "book", input: "Go." })
      yield* store.fork("book", { to: "book~2" })
      yield* store.fork("book", { to: "other" })
      assert.notInclude(JSON.stringify([yield* store.info("other"), yield* logOf("other")]), "\"book\"")
      const forks = yield* Stream.runCollect(Sessions.list({ prefix: "book~" }))
      assert.deepStrictEqual(forks.map(({ sessionId }) => sessionId), ["book~2"])
    }).pipe(Effect.provide(below(ScriptedModel.text("A cat.")))))

  it.effect("a tool that only says that the work is done ends the run with its round; the log has its arguments", () =>
    Effect.gen(function*() {
      const Work = Toolkit.make(
        Tool.make("done", { parameters: Schema.Struct({ answer: Schema.String }), success: Schema.Void })
      )
      const agent = yield* Effect.provide(
        Agent.make({
          instructions: "Work.",
          toolkit: Toolkit.merge(Pages, Work),
          prepareTurn: () => Effect.succeed({ toolChoice: "required" }),
          stopWhen: StopWhen.toolCalled("done")
        }),
        Work.toLayer({ done: () => Effect.void })
      )
      const result = yield* agent.run({ sessionId: "s", input: "Go." })
      assert.deepStrictEqual([result._tag, result.turns], ["Completed", 2])
      const started = RunLog.only(yield* logOf("s"), "ToolStarted").filter(({ tool }) => tool === "done")
      assert.deepStrictEqual(started.map(({ params }) => params), [{ answer: "A cat." }])
    }).pipe(
      Effect.provide(Layer.provideMerge(PagesLive, below(read(1), ScriptedModel.call("done", { answer: "A cat." }))))
    ))
})

describe("docs/approvals.md, a question in a handler", () => {
  const Questions = Toolkit.make(
    Tool.make("ask_user", { parameters: Schema.Struct({ question: Schema.String }), success: Schema.String })
      .annotate(NeedsResult, true)
  )
  class Asker extends Agent.Service<Asker>()("docs/Asker", { instructions: "", toolkit: Questions }) {}
  const usage = { inputTokens: 0, outputTokens: 0 }
  const Passing = Layer.succeed(Model, {
    info: { provider: "app", name: "passing" },
    stream: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === "tool") {
        const said = last.content[0]?.result
        const delta = typeof said === "string" ? said : JSON.stringify(said)
        return Stream.make({ type: "text-delta", block: "0", delta }, { type: "finish", reason: "stop", usage })
      }
      const params = { question: last?.role === "user" ? Message.textOf(last.content) : "" }
      return Stream.make(
        { type: "tool-call", id: "1", name: "ask_user", params },
        { type: "finish", reason: "tool-calls", usage }
      )
    }
  })
  const AskerLive = Asker.layer.pipe(
    Layer.provide([Passing, Questions.toLayer({ ask_user: () => Effect.die("a person answers") })])
  )

  /** An agent with a tool whose handler asks; `entered` counts how often it begins, by the key of its call. */
  const make = Effect.fnUntraced(
    function*(isRepeatable: boolean, questionOf: (n: number) => string = () => "80 euros. Book it?") {
      const entered: Array<string> = []
      const Trips = Toolkit.make(
        Tool.make("book", {
          parameters: Schema.Struct({ hotel: Schema.String }),
          success: Schema.String,
          failure: Schema.String,
          dependencies: [ToolCall]
        }).annotate(Tool.Idempotent, isRepeatable)
      )
      const asker = yield* Asker
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Book.", toolkit: Trips }),
        Trips.toLayer({
          book: Effect.fnUntraced(function*({ hotel }) {
            entered.push((yield* ToolCall).idempotencyKey)
            const answer = yield* ToolCall.runAgent(asker, { input: questionOf(entered.length) })
            return answer === "yes" ? `booked ${hotel}` : yield* Effect.fail(`not booked: ${answer}`)
          })
        })
      )
      return { agent, entered, asker }
    }
  )
  const answered = Effect.fnUntraced(
    function*({ agent, asker }: Effect.Success<ReturnType<typeof make>>, result: string) {
      const suspended = yield* agent.run({ sessionId: "s", input: "Go." })
      assert.strictEqual(suspended._tag, "Suspended")
      const [question] = yield* agent.approvals("s")
      assert.deepStrictEqual(question?.params, { question: "80 euros. Book it?" })
      yield* asker.decide({ sessionId: question!.sessionId, approvalId: question!.id, approved: true, result })
      yield* agent.resumeRun({ sessionId: "s" })
      const [settled] = RunLog.only(yield* logOf("s"), "ToolSettled")
      return settled?.outcome
    }
  )
  const world = Layer.provideMerge(
    AskerLive,
    below(ScriptedModel.call("book", { hotel: "Ritz" }), ScriptedModel.text("Done."))
  )

  for (const isRepeatable of [true, false]) {
    it.effect(`gets what the person says; ${isRepeatable ? "" : "not "}repeatable, it begins anew, with the same key`, () =>
      Effect.gen(function*() {
        const made = yield* make(isRepeatable)
        assert.deepStrictEqual(yield* answered(made, "yes"), { _tag: "Succeeded", result: "booked Ritz" })
        const [first, ...more] = made.entered
        assert.deepStrictEqual(more, [first])
      }).pipe(Effect.provide(world)))
  }

  it.effect("asks no model, and lets the handler refuse what is not a yes", () =>
    Effect.gen(function*() {
      const made = yield* make(true)
      assert.deepStrictEqual(yield* answered(made, "no"), { _tag: "Failed", result: "not booked: no" })
      assert.lengthOf(yield* requests, 2)
    }).pipe(Effect.provide(world)))

  it.effect("that somebody denies is a text that says so", () =>
    Effect.gen(function*() {
      const { agent } = yield* make(true)
      yield* agent.run({ sessionId: "s", input: "Go." })
      const [question] = yield* agent.approvals("s")
      const no = { approvalId: question!.id, approved: false, reason: "too much" }
      yield* Sessions.decide({ sessionId: question!.sessionId, ...no })
      yield* agent.resumeRun({ sessionId: "s" })
      const [settled] = RunLog.only(yield* logOf("s"), "ToolSettled")
      assert.match(JSON.stringify(settled?.outcome), /"Failed","result":"not booked: .*too much/)
    }).pipe(Effect.provide(world)))

  it.effect("may be followed by a second one with an id of its own", () =>
    Effect.gen(function*() {
      const asker = yield* Asker
      const Twice = Toolkit.make(
        Tool.make("book", { success: Schema.String, failure: Schema.String, dependencies: [ToolCall] })
      )
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Book.", toolkit: Twice }),
        Twice.toLayer({
          book: Effect.fnUntraced(function*() {
            const { idempotencyKey } = yield* ToolCall
            const where = yield* ToolCall.runAgent(asker, { input: "Where?" })
            const runId = `${idempotencyKey}/b`
            return `${where}, ${yield* ToolCall.runAgent(asker, { runId, input: "When?" })}`
          })
        })
      )
      yield* agent.run({ sessionId: "s", input: "Go." })
      for (const result of ["Rome", "May"]) {
        const [question, ...more] = yield* agent.approvals("s")
        assert.lengthOf(more, 0)
        yield* asker.decide({ sessionId: question!.sessionId, approvalId: question!.id, approved: true, result })
        yield* agent.resumeRun({ sessionId: "s" })
      }
      const settled = RunLog.only(yield* logOf("s"), "ToolSettled")
      assert.deepStrictEqual(settled.map(({ outcome }) => outcome), [{ _tag: "Succeeded", result: "Rome, May" }])
    }).pipe(Effect.provide(Layer.provideMerge(
      AskerLive,
      below(ScriptedModel.call("book", {}), ScriptedModel.text("Done."))
    ))))

  it.effect("has to be asked in the same words again, or its call fails", () =>
    Effect.gen(function*() {
      const made = yield* make(true, (n) => n === 1 ? "80 euros. Book it?" : "90 euros. Book it?")
      assert.deepInclude(yield* answered(made, "yes"), { _tag: "Failed" })
    }).pipe(Effect.provide(world)))

  it.effect("needs a price for its agent where the cost of the run around it is limited", () =>
    Effect.gen(function*() {
      const { agent } = yield* make(true)
      const run = agent.run({ input: "Go.", limits: { maxCost: 1 } })
      const priced = (names: ReadonlyArray<string>) =>
        Effect.provideService(
          run,
          Prices.Prices,
          Prices.table(Object.fromEntries(names.map((name) => [name, { input: 0, output: 0 }])))
        )
      const ends = [yield* priced(["scripted"]), yield* priced(["scripted", "app/passing"])]
      assert.deepStrictEqual(ends.map(({ _tag }) => _tag), ["Completed", "Suspended"])
    }).pipe(Effect.provide(Layer.provideMerge(
      AskerLive,
      below(
        ScriptedModel.call("book", { hotel: "Ritz" }),
        ScriptedModel.text("No."),
        ScriptedModel.call("book", { hotel: "Ritz" })
      )
    ))))
})

describe("docs/approvals.md, always", () => {
  const Shell = Toolkit.make(
    Tool.make("run", {
      parameters: Schema.Struct({ line: Schema.String }),
      success: Schema.String,
      needsApproval: true
    })
  )
  const AlwaysLive = Layer.effect(
    Approver,
    Effect.map(SessionStore, (store) => ({
      ask: ({ sessionId, tool }) =>
        store.read(sessionId).pipe(
          Stream.runFold(() => ({ asked: new Map<string, string>(), allowed: new Set<string>() }), (known, event) => {
            if (event._tag === "ApprovalRequested") known.asked.set(event.approvalId, event.tool)
            if (event._tag === "ApprovalResolved" && event.approved && event.by?.endsWith(", always") === true) {
              known.allowed.add(known.asked.get(event.approvalId) ?? "")
            }
            return known
          }),
          Effect.map(({ allowed }) => allowed.has(tool) ? { approved: true as const, by: "always" } : undefined),
          Effect.orDie
        )
    }))
  )

  it.effect.each([["ann, always", "Completed"], ["ann", "Suspended"]] as const)(
    "a yes by %s leaves the next call of that tool %s",
    ([by, end]) =>
      Effect.gen(function*() {
        const agent = yield* Effect.provide(
          Agent.make({ instructions: "Work.", toolkit: Shell }),
          Layer.merge(Shell.toLayer({ run: ({ line }) => Effect.succeed(line) }), AlwaysLive)
        )
        yield* agent.run({ sessionId: "s", input: "Go." })
        const [question] = yield* agent.approvals("s")
        yield* agent.decide({ sessionId: "s", approvalId: question!.id, approved: true, by })
        assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" }))._tag, end)
      }).pipe(Effect.provide(below(
        ScriptedModel.call("run", { line: "ls" }),
        ScriptedModel.call("run", { line: "pwd" }),
        ScriptedModel.text("Done.")
      )))
  )
})

describe("docs/hooks.md, other words than the model's", () => {
  type Text = Extract<ModelPart, { readonly type: "text-delta" }>
  const rewritten = <E, R>(model: Layer.Layer<Model, E, R>, rewrite: (text: string) => string) => {
    const step = (held: Text | undefined, part: ModelPart): readonly [Text | undefined, ReadonlyArray<ModelPart>] => {
      if (part.type === "response" || part.type === "source") return [held, [part]]
      const goesOn = part.type === "text-delta" && held?.block === part.block
      const before = held && !goesOn ? [{ ...held, delta: rewrite(held.delta) }] : []
      if (part.type !== "text-delta") return [undefined, [...before, part]]
      const text = (goesOn ? held.delta : "") + part.delta
      const end = text.lastIndexOf("\n") + 1
      return [{ ...part, delta: text.slice(end) }, [...before, { ...part, delta: rewrite(text.slice(0, end)) }]]
    }
    const around = (inner: Model["Service"]): Model["Service"] => ({
      ...inner,
      stream: (request) => Stream.mapAccum(inner.stream(request), () => undefined as Text | undefined, step)
    })
    return Layer.provide(Layer.effect(Model, Effect.map(Model, around)), model)
  }
  const said: ReadonlyArray<ModelPart> = [
    { type: "text-delta", block: "0", delta: "Ask a" },
    { type: "response", id: "r" },
    { type: "text-delta", block: "0", delta: "nn@x.com,\nor b" },
    { type: "source", source: { type: "url", url: "https://x.com/" } },
    { type: "text-delta", block: "0", delta: "ob@x.com." },
    { type: "text-delta", block: "1", delta: "Or nobody." }
  ]
  const masked = rewritten(
    ScriptedModel.layer([ScriptedModel.parts(...said)]),
    (text) => text.replace(/\w+@\w+\.com/g, "***")
  )

  it.effect("are in the deltas, the result and the log, and the model's own are in none of them", () =>
    Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Be brief." })
      const events = yield* Stream.runCollect(agent.stream({ sessionId: "s", input: "Whom?" }))
      const log = yield* logOf("s")
      assert.notMatch(JSON.stringify([events, log]), /ann|bob/)
      const [answer] = RunLog.only(log, "AssistantMessage")
      assert.deepStrictEqual(answer?.message.content, [
        { type: "text", text: "Ask ***,\nor ***." },
        { type: "text", text: "Or nobody." }
      ])
    }).pipe(Effect.provide(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, masked))))
})

describe("docs/agents.md", () => {
  it.effect("a handler that depends on the store reads what its model was sent in the session", () =>
    Effect.gen(function*() {
      const Tickets = Toolkit.make(
        Tool.make("file_ticket", { success: Schema.String, dependencies: [ToolCall, SessionStore] })
      )
      const filed: Array<ReadonlyArray<Message.Message>> = []
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Help.", toolkit: Tickets }),
        Tickets.toLayer({
          file_ticket: Effect.fnUntraced(function*() {
            const { sessionId } = yield* ToolCall
            const { transcript } = yield* Effect.orDie(Sessions.current(sessionId))
            filed.push(Transcript.messages(Transcript.beforeTurn(transcript)))
            return "filed"
          })
        })
      )
      yield* agent.run({ sessionId: "s", input: "It is broken." })
      yield* agent.run({ sessionId: "s", input: "File it." })
      const [sent, ...more] = (yield* requests).slice(1).map(({ messages }) => messages.slice(1))
      assert.lengthOf(more, 1)
      assert.deepStrictEqual(filed, [sent!])
    }).pipe(Effect.provide(below(
      ScriptedModel.text("Shall I file it?"),
      ScriptedModel.call("file_ticket", {}),
      ScriptedModel.text("Done.")
    ))))
})

describe("docs/tools.md", () => {
  const Files = Toolkit.make(
    Tool.make("edit_file", { parameters: Schema.Struct({ file: Schema.String }), success: Schema.String }),
    Tool.make("read_file", { success: Schema.String })
  )

  it.effect("calls whose handler takes a permit run one by one, beside those of other tools", () =>
    Effect.gen(function*() {
      const looked = yield* Deferred.make<void>()
      const steps: Array<string> = []
      const FilesLive = Files.toLayer(Effect.map(Semaphore.make(1), (one) => ({
        edit_file: ({ file }) =>
          one.withPermit(Effect.gen(function*() {
            steps.push(`begin ${file}`)
            yield* Deferred.await(looked)
            steps.push(`end ${file}`)
            return "edited"
          })),
        read_file: () => Effect.as(Deferred.succeed(looked, undefined), "read")
      })))
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Edit.", toolkit: Files, toolPolicy: { maxParallel: Infinity } }),
        FilesLive
      )
      yield* agent.run({ input: "Go." })
      assert.deepStrictEqual(steps, ["begin a", "end a", "begin b", "end b"])
    }).pipe(Effect.provide(below(
      [
        ScriptedModel.call("edit_file", { file: "a" }),
        ScriptedModel.call("edit_file", { file: "b" }),
        ScriptedModel.call("read_file", {})
      ],
      ScriptedModel.text("Done.")
    ))))
})
