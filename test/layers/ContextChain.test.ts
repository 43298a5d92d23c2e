/** Several strategies as one: the first that helps is used, those that fail are passed over, and all that is spent counts. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextPruning from "../../src/layers/ContextPruning.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as Message from "../../src/run/Message.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import * as Draft from "../support/Drafts.ts"
import * as Views from "../support/Views.ts"

type Service = ContextManager.ContextManager["Service"]

/** Tool rounds with long output. */
const worked = Transcript.fromLog(Draft.log(
  Draft.started("go"),
  ...Array.from({ length: 10 }, (_, i) => [
    Draft.turnStarted(i + 1),
    Draft.assistant([Draft.call("work", { n: i })], { turn: i + 1 }),
    Draft.settled(`${i + 1}.0`, `${i}:${"x".repeat(2_000)}`),
    Draft.turnFinished(i + 1)
  ]).flat()
))

const failing: Service = {
  plan: (request) => ({ _tag: "Compact", request }),
  compact: () =>
    Effect.fail(new ContextManager.CompactionError({ message: "no", usage: { inputTokens: 7, outputTokens: 1 } }))
}

const giving = (given: Omit<ContextManager.Compaction, "usage">): Service => ({
  plan: (request) => ({ _tag: "Compact", request }),
  compact: () => Effect.succeed({ ...given, usage: { inputTokens: 7, outputTokens: 1 } })
})

/** Returns something that is no smaller. */
const growing = giving({ strategy: "growing", upTo: 0, replacement: [Message.user("more")] })

const noting = () => {
  let sum = Usage.zero
  const noted = () => sum
  const note = (usage: Usage.Usage) => {
    sum = Usage.add(sum, usage)
  }
  return { noted, ledger: { mayAsk: () => true, note, noted } }
}

const compact = (chain: Service, options: Views.Options = { force: "overflow" }) => {
  const plan = chain.plan(Views.view(worked, options))
  return plan._tag === "Send" ? undefined : Effect.runSync(Effect.result(chain.compact(plan.request)))
}

const strategyOf = (result: ReturnType<typeof compact>) =>
  result?._tag === "Success" ? result.success.strategy : undefined

describe("a chain", () => {
  it("says why those failed that are inside one of its strategies", () => {
    const inner = giving({
      strategy: "inner",
      upTo: 20,
      replacement: [Message.user("go")],
      passedOver: ["the first of these"]
    })
    const result = compact(ContextChain.make([failing, inner]))
    assert.deepStrictEqual(result?._tag === "Success" ? result.success.passedOver : undefined, [
      "no",
      "the first of these"
    ])
  })

  it("uses the first strategy whose result fits", () => {
    const chain = ContextChain.make([ContextPruning.make(), ContextWindow.make()])
    assert.strictEqual(strategyOf(compact(chain, { limit: 4_000 })), "pruning")
  })

  it.each<readonly [string, Service["compact"], warned: RegExp, why: string]>([
    [
      "throws",
      () => {
        throw new TypeError("SECRET")
      },
      /^a strategy failed: TypeError at .*ContextChain\.test\.ts:\d+:\d+; so its compaction has failed$/,
      "a strategy failed unexpectedly"
    ],
    [
      "dies",
      () => Effect.die(new TypeError("SECRET")),
      /^a strategy failed: TypeError at .*ContextChain\.test\.ts:\d+:\d+; so its compaction has failed$/,
      "a strategy failed unexpectedly"
    ],
    [
      "interrupts itself",
      () => Effect.interrupt,
      /^a strategy interrupted itself; so its compaction has failed$/,
      "a strategy interrupted itself"
    ]
  ])("passes over one that %s, and warns of it without its words", (_, compact, warned, why) => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const broken: Service = { plan: (request) => ({ _tag: "Compact", request }), compact }
    const chain = ContextChain.make([broken, ContextWindow.make()])
    const plan = chain.plan(Views.view(worked, { limit: 4_000, force: "overflow" }))
    assert(plan._tag === "Compact")
    const result = Effect.runSync(Effect.provide(chain.compact(plan.request), Logger.layer([logger])))
    assert.deepStrictEqual([result.strategy, result.passedOver], ["window", [why]])
    assert.lengthOf(lines, 1)
    assert.match(lines[0]!, warned)
  })

  it.each<readonly [string, plan: () => unknown, warned: RegExp]>([
    [
      "throws",
      () => {
        throw new TypeError("SECRET")
      },
      /^a strategy failed: TypeError at .*ContextChain\.test\.ts:\d+:\d+; so it plans nothing$/
    ],
    ["is nothing", () => undefined, /^a strategy planned undefined, which is no plan; so it plans nothing$/],
    ["is a text", () => "Send", /^a strategy planned a text, which is no plan; so it plans nothing$/],
    ["has no request", () => ({ _tag: "Compact" }), /^a strategy planned an object, which is no plan;/]
  ])("passes over one whose plan %s, and warns of it without its words", (_, plan, warned) => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const broken: Service = { plan: plan as never, compact: () => Effect.die("not asked") }
    const chain = ContextChain.make([broken, ContextWindow.make()])
    const planned = chain.plan(Views.view(worked, { limit: 4_000 }))
    assert(planned._tag === "Compact")
    const result = Effect.runSync(Effect.provide(chain.compact(planned.request), Logger.layer([logger])))
    assert.deepStrictEqual([result.strategy, result.passedOver], ["window", ["a strategy failed unexpectedly"]])
    assert.lengthOf(lines, 1)
    assert.match(lines[0]!, warned)
  })

  it("passes over one that leaves as many messages when there were too many", () => {
    const chain = ContextChain.make([ContextPruning.make(), ContextWindow.make({ compactThreshold: 10 })])
    assert.strictEqual(strategyOf(compact(chain, {})), "window")
    const longer = ContextChain.make([
      ContextPruning.make({ compactThreshold: 10 }),
      ContextPruning.make({ keep: 0.5 })
    ])
    assert.strictEqual(strategyOf(compact(longer, {})), "pruning")
  })

  it("accepts a result that leaves up to 70 % of what may be sent, and none that leaves more", () => {
    const halving: Service = {
      plan: (request) => ({ _tag: "Compact", request }),
      compact: ({ transcript }) => {
        const upTo = Transcript.entries(transcript).at(11)!.seq
        return Effect.succeed({ strategy: "halving", upTo, replacement: [Message.user("go")], usage: Usage.zero })
      }
    }
    const halved = compact(halving)
    assert(halved?._tag === "Success")
    const left = Views.tokens(Views.after(worked, halved.success))
    const chain = ContextChain.make([halving, ContextWindow.make({ keep: 0.1 })])
    assert.strictEqual(strategyOf(compact(chain, { force: "overflow", limit: left / 0.699 })), "halving")
    assert.strictEqual(strategyOf(compact(chain, { force: "overflow", limit: left / 0.701 })), "window")
  })

  it("uses the one that leaves least when none fits, whatever their order", () => {
    const [more, least] = [ContextPruning.make({ keep: 0.9 }), ContextWindow.make({ keep: 0.1 })]
    for (const managers of [[more, least], [least, more]]) {
      assert.strictEqual(strategyOf(compact(ContextChain.make(managers), { limit: 10 })), "window")
    }
  })

  it("passes over one that fails, and counts what it spent", () => {
    const { ledger, noted } = noting()
    const result = compact(ContextChain.make([failing, ContextWindow.make()]), { force: "overflow", ledger })
    assert.strictEqual(strategyOf(result), "window")
    assert.deepStrictEqual(noted(), { inputTokens: 7, outputTokens: 1 })
  })

  it("passes over one whose result is no smaller", () => {
    assert.strictEqual(strategyOf(compact(ContextChain.make([growing, ContextWindow.make()]))), "window")
  })

  const lawless: Record<string, { readonly service: Service; readonly why: RegExp }> = {
    "leaves out the latest message of the user": {
      service: giving({ strategy: "all", upTo: 1_000, replacement: [] }),
      why: /^the strategy "all" did not keep the latest message of the user$/
    },
    "has the user's words only as the model's": {
      service: giving({
        strategy: "said",
        upTo: 1_000,
        replacement: [Message.user("so far"), { role: "assistant", content: Message.user("go").content }]
      }),
      why: /^the strategy "said" did not keep the latest message of the user$/
    },
    "is no compaction at all": {
      service: giving({ strategy: "odd", upTo: NaN, replacement: [] }),
      why: /^the strategy did not return a compaction: /
    }
  }
  it.each(Object.entries(lawless))("passes over one whose result %s, and says why", (_, { service, why }) => {
    const result = compact(ContextChain.make([service, ContextWindow.make()]))
    assert.strictEqual(strategyOf(result), "window")
    assert(result?._tag === "Success")
    const { passedOver = [] } = result.success
    assert.strictEqual(passedOver.length, 1)
    assert.match(passedOver[0]!, why)
  })

  it("passes over one whose result keeps only a part of the latest message of the user", () => {
    const [task, place] = [Message.text("go"), Message.text("to Oslo")]
    const asked = Transcript.fromLog(Draft.log(Draft.started("", { messages: [Message.user([task, place])] })))
    const half = giving({ strategy: "half", upTo: 1_000, replacement: [Message.user([task])] })
    const plan = ContextChain.make([half]).plan(Views.view(asked, { force: "overflow" }))
    assert(plan._tag === "Compact")
    const { message } = Effect.runSync(Effect.flip(ContextChain.make([half]).compact(plan.request)))
    assert.strictEqual(message, "the strategy \"half\" did not keep the latest message of the user")
  })

  it("fails with all reasons when none helps, and counts what was spent", () => {
    const { ledger, noted } = noting()
    const result = compact(ContextChain.make([failing, growing]), { force: "overflow", ledger })
    assert(result?._tag === "Failure")
    assert.match(
      result.failure.message,
      /^no; the strategy "growing" did not make the context smaller: about \d+ tokens before, \d+/
    )
    assert.deepStrictEqual(noted(), { inputTokens: 14, outputTokens: 2 })
  })

  it("uses one that is not automatic only when compacting by hand", () => {
    const chain = ContextChain.make([ContextWindow.make({ automatic: false }), ContextPruning.make()])
    assert.strictEqual(strategyOf(compact(chain, { limit: 100 })), "pruning")
    assert.strictEqual(strategyOf(compact(chain, { force: "manual" })), "window")
  })

  it("sends when none of them would compact", () => {
    assert.isUndefined(compact(ContextChain.make([ContextPruning.make(), ContextWindow.make()]), { limit: 1e6 }))
  })

  it.effect("is made of layers, each with its own settings", () =>
    Effect.gen(function*() {
      const layer = ContextChain.layer(
        ContextPruning.layerWith({ maxTokens: 1e6 }),
        ContextWindow.layerWith({ compactThreshold: 5 })
      )
      const chain = Context.get(yield* Layer.build(layer), ContextManager.ContextManager)
      const plan = chain.plan(Views.view(worked))
      assert.deepStrictEqual(plan._tag === "Compact" && plan.request.cause, "messages")
    }))
})
