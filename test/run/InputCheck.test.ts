/** What a caller gave becomes what the log keeps, or an error that names the field and says what it must be. */
import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as InputCheck from "../../src/run/InputCheck.ts"
import * as Message from "../../src/run/Message.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as RunPolicy from "../../src/run/RunPolicy.ts"

const defaults: InputCheck.Defaults = {
  limits: { maxTurns: 20, maxErrors: 20, maxCompactions: 3 },
  toolPolicy: { maxParallel: 2 },
  tools: ["search", "pay"]
}

const effective = (input: Partial<RunInput.RunInput>) =>
  Result.getOrThrow(InputCheck.asked({ input: "hello", ...input }, defaults)).effective

/** The field and the message of a refusal. */
const refusal = <A>(checked: Result.Result<A, { readonly reason: object }>) => {
  if (Result.isSuccess(checked)) assert.fail(`accepted: ${JSON.stringify(checked.success)}`)
  const { reason } = checked.failure as { readonly reason: { _tag: string; field: string; message: string } }
  assert.strictEqual(reason._tag, "InvalidInput")
  return reason
}
const refused = (input: Partial<RunInput.RunInput>) => refusal(InputCheck.asked({ input: "hello", ...input }, defaults))

/** As the classes of libraries are: units that it reads from a member of its own. */
class Minutes {
  readonly #values: { readonly minutes: number }
  readonly locale = "en"
  readonly months: number
  constructor(minutes: number, months = 0) {
    this.#values = { minutes }
    this.months = months
  }
  get minutes() {
    return this.#values.minutes
  }
}

describe("an input", () => {
  it("that is a text is one user message, and everything else is the agent's default", () => {
    assert.deepStrictEqual(effective({}), {
      messages: [Message.user("hello")],
      toolPolicy: { maxParallel: 2 },
      limits: { maxTurns: 20, maxErrors: 20, maxCompactions: 3 }
    })
  })

  it("with a JSON null for a part does not have that part", () => {
    const names = ["instructions", "limits", "toolPolicy", "allowedTools", "toolOrder"]
    const input = JSON.parse(`{ ${names.map((name) => `"${name}": null`).join()} }`)
    assert.deepStrictEqual(effective(input), effective({}))
  })

  it.each(["limits", "toolPolicy", "allowedTools", "toolOrder"])(
    "with false, 0, NaN or an empty text for its %s is refused: none of these is a choice",
    (field) => {
      for (const given of [false, 0, NaN, ""]) assert.strictEqual(refused({ [field]: given }).field, field)
    }
  )

  it.each([null, undefined])(
    "with %s for what has a default is filled in or refused like one that says more",
    (nothing) => {
      const input = { limits: nothing, toolPolicy: nothing, allowedTools: nothing, toolOrder: nothing } as never
      assert.deepStrictEqual({ ...effective(input), data: 1 }, effective({ ...(input as {}), data: 1 }))
      assert.deepStrictEqual(
        refused({ ...(input as {}), input: "" }),
        refused({ ...(input as {}), input: "", data: 1 })
      )
    }
  )

  it.each<keyof RunInput.RunInput>(["history", "instructions", "data"])(
    "whose %s is empty keeps it, and one that leaves it out has none",
    (field) => {
      assert.notProperty(effective({ [field]: undefined }), field)
      const given = field === "history" ? [] : field === "data" ? null : ""
      assert.deepStrictEqual(effective({ [field]: given }), { ...effective({}), [field]: given })
    }
  )

  it("that is messages keeps them and their parts separate", () => {
    const file: Message.FilePart = { type: "file", mediaType: "image/png", data: "AA==" }
    const input = [{ role: "user" as const, content: "one" }, { role: "user" as const, content: [file] }]
    assert.deepStrictEqual(effective({ input }).messages, [Message.user("one"), Message.user([file])])
  })

  it.each<readonly [string, RunInput.RunInput["input"]]>([
    ["an empty text", ""],
    ["a blank text", " \n\t\u00a0"],
    ["no message", []],
    ["a message of nothing", [{ role: "user", content: [] }]],
    ["a blank message", [{ role: "user", content: " " }]],
    ["a blank message among others", [{ role: "user", content: "hi" }, { role: "user", content: [Message.text("")] }]]
  ])("that is %s is refused as empty", (_, input) => {
    assert.deepInclude(refused({ input }), {
      field: "input",
      message: "the input is empty; say what the agent is to do"
    })
  })

  it("with a file at an invalid URL is refused, there and in the history, without showing it", () => {
    const file: Message.FilePart = { type: "file", mediaType: "image/png", data: "https://exa mple.com/x.png" }
    const content = [Message.text("look"), file]
    const given = refused({ input: [{ role: "user", content: "hi" }, { role: "user", content }] })
    assert.strictEqual(given.field, "input")
    assert.include(given.message, "part 2 of message 2")
    assert.notInclude(given.message, "exa mple")
    assert.strictEqual(refused({ history: [{ role: "user", content }] }).field, "history")
    const urls = ["https://example.com/x.png", "data:image/png;base64,AA==", "AA=="]
    const files = urls.map((data): Message.FilePart => ({ ...file, data }))
    assert.deepStrictEqual(effective({ input: [{ role: "user", content: files }] }).messages, [Message.user(files)])
  })

  it("with a file that is neither at an address nor base64 is refused without showing it", () => {
    const of = (data: string): Partial<RunInput.RunInput> => ({
      input: [Message.user([Message.text("look"), { type: "file", mediaType: "image/png", data }])]
    })
    for (const data of ["not base64 %%", "file:///etc/passwd", "./cat.png", "{\"a\":1}"]) {
      const { field, message } = refused(of(data))
      assert.strictEqual(field, "input")
      assert.match(message, /^part 2 of message 1 of the input is a file whose data is neither base64 nor/)
      assert.notInclude(message, data)
    }
    for (const data of ["a=b=c", "=", "AA===", "A", "AAAAA", "AA\nAAA"]) {
      assert.match(refused(of(data)).message, /^part 2 of message 1 of the input is a file whose data is neither/)
    }
    for (
      const data of ["AAEC+/==", "AAEC-_", "AA\nEC\r\n", "data:image/png;base64,AA==", "https://example.com/a.png"]
    ) {
      assert.deepInclude(effective(of(data)).messages[0]?.content[1], { data })
    }
  })

  it("with a file whose data URL says base64 is refused if nobody can decode that, without showing it", () => {
    const of = (data: string): Partial<RunInput.RunInput> => ({
      input: [Message.user([{ type: "file", mediaType: "image/png", data }])]
    })
    for (const base64 of ["@@@", "a=b=c", "AAAAA", "AA===", "AA%3D%3DAA", "AA==#a"]) {
      for (
        const head of ["data:image/png;base64,", "DATA:image/png; BASE64 ,", "data:text/plain;charset=utf-8;base64,"]
      ) {
        const { field, message } = refused(of(head + base64))
        assert.strictEqual(field, "input")
        assert.match(message, /^part 1 of message 1 of the input is a file whose data URL says base64 and holds none/)
        assert.notInclude(message, base64)
      }
    }
    for (
      const data of [";base64,AAEC-_", ";base64,AAEC%2B_%3d=", ";base64,AAEC\r\nAA", ",a text", ";charset=base64,@@@"]
    ) {
      assert.deepInclude(effective(of(`data:text/plain${data}`)).messages[0]?.content[0], {
        data: `data:text/plain${data}`
      })
    }
  })

  it("with a file without data or media type is refused, there and in the history", () => {
    const of = (file: Partial<Message.FilePart>): Message.UserMessage =>
      Message.user([Message.text("look"), { type: "file", mediaType: "image/png", data: "AA==", ...file }])
    const place = "part 2 of message 1 of the"
    for (const data of ["", " \n", "data:", "data:image/png;base64,", "data:image/png;base64,%20", "data:image/png"]) {
      assert.strictEqual(
        refused({ input: [of({ data })] }).message,
        `${place} input is a file without data; give its content, or leave the part out`
      )
      assert.include(refused({ history: [of({ data })] }).message, `${place} history is a file without data`)
    }
    for (const mediaType of ["", " "]) {
      assert.strictEqual(
        refused({ input: [of({ mediaType })] }).message,
        `${place} input is a file without a media type; say what it is, such as "image/png"`
      )
    }
    for (const mediaType of ["image/*", "image", "text/plain; charset=utf-8"]) {
      assert.deepInclude(effective({ input: [of({ mediaType })] }).messages[0]?.content[1], { mediaType })
    }
  })

  it("treats undefined fields of parts as left out, there and in the history", () => {
    const file = {
      type: "file",
      mediaType: "image/png",
      data: "AA==",
      fileName: undefined,
      metadata: undefined
    } as const
    const message = { role: "user", content: [{ ...Message.text("look"), metadata: undefined }, file] } as const
    const kept = [Message.user([Message.text("look"), { type: "file", mediaType: "image/png", data: "AA==" }])]
    const { history, messages } = effective({ input: [message as never], history: [message as never] })
    assert.deepStrictEqual([messages, history], [kept, kept])
  })

  it.each<readonly [string, string, unknown]>([
    ["an image of the AI SDK", "part 2 of message 1 is neither", {
      role: "user",
      content: [Message.text("a"), { type: "image" }]
    }],
    ["bytes", "part 1 of message 1 is neither", {
      role: "user",
      content: [{ type: "file", mediaType: "image/png", data: new Uint8Array(1) }]
    }],
    ["a part that is none", "part 1 of message 1 is neither", { role: "user", content: [null] }],
    ["parts that are no list", "message 1 has content that is neither", { role: "user", content: { text: "a" } }],
    ["no content", "message 1 has content that is neither", { role: "user", parts: [Message.text("a")] }],
    ["another role", "message 1 has another role", { role: "system", content: "a" }]
  ])("with %s is refused by its place, there and in the history", (_, place, message) => {
    assert.include(refused({ input: [message as never] }).message, `with text and file parts; ${place}`)
    const { field, message: told } = refused({ history: [message as never] })
    assert.strictEqual(field, "history")
    assert.include(told, `with text and file parts; ${place}`)
  })

  it.each<readonly [string, object]>([
    ["call", { type: "tool-call", id: "1", name: "pay", params: {} }],
    ["result", { type: "tool-result", id: "1", name: "pay", result: 1, isFailure: false, providerExecuted: true }]
  ])("with the %s of a tool in an answer of the history is refused by its place and its name", (_, part) => {
    const history = [Message.user("pay"), { role: "assistant", content: [Message.text("yes"), part] }]
    const { field, message } = refused({ history: history as never })
    assert.strictEqual(field, "history")
    assert.match(
      message,
      /with text and file parts; part 2 of message 2 is a tool-(call|result): leave the calls of tools out/
    )
  })

  it("keeps what was given and nothing else", () => {
    const given = {
      history: [{ role: "user" as const, content: "hi" }, { role: "assistant" as const, content: "hello" }],
      instructions: "Be brief.",
      allowedTools: ["pay"],
      toolOrder: ["pay", "search"],
      data: { tenant: 7 }
    }
    const { history, ...rest } = effective(given)
    assert.deepInclude(rest, { instructions: "Be brief.", allowedTools: ["pay"], data: { tenant: 7 } })
    assert.deepStrictEqual(history, [
      Message.user("hi"),
      { role: "assistant", content: [Message.text("hello")] }
    ])
    const absent = effective({ history: undefined, instructions: undefined, data: undefined, allowedTools: undefined })
    assert.deepStrictEqual(Object.keys(absent).toSorted(), ["limits", "messages", "toolPolicy"])
  })

  it("may set parts of the tool policy", () => {
    assert.deepStrictEqual(effective({ toolPolicy: { continueOnError: false } }).toolPolicy, {
      maxParallel: 2,
      continueOnError: false
    })
  })
})

describe("time limits", () => {
  const circular: { itself?: object } = {}
  circular.itself = circular

  it.each<readonly [string, unknown]>([
    ["\"soon\"", "soon"],
    ["-1", -1],
    ["NaN", NaN],
    ["0", 0],
    ["\"-1 second\"", "-1 second"],
    ["{\"seconds\":null}", { seconds: NaN }],
    ["{}", circular]
  ])("of %s are refused: each call would be over before it began", (shown, value) => {
    const { field, message } = refusal(InputCheck.timeouts({ tool: value as number }))
    assert.strictEqual(field, "timeouts.tool")
    assert.strictEqual(message, `timeouts.tool must be a duration of at least 1 millisecond; it is ${shown}`)
  })

  it("of at least a millisecond are accepted, at any length", () => {
    const given = InputCheck.timeouts({ call: 1, gap: "1 hour", tool: Infinity })
    assert.deepStrictEqual(Result.getOrThrow(given), {
      call: Duration.millis(1),
      gap: Duration.hours(1),
      tool: Duration.infinity
    })
  })

  it("of single tools are also durations, and only name known tools if those are given", () => {
    const given = InputCheck.timeouts({ gap: 5, tools: { search: "1 minute", ask: undefined } }, ["search", "ask"])
    assert.deepStrictEqual(Result.getOrThrow(given), {
      gap: Duration.millis(5),
      tools: { search: Duration.minutes(1) }
    })
    const bad = refusal(InputCheck.timeouts({ tools: { search: 0 } }))
    assert.strictEqual(bad.field, "timeouts.tools.search")
    assert.include(bad.message, "timeouts.tools.search must be a duration of at least 1 millisecond; it is 0")
    const unknown = refusal(InputCheck.timeouts({ tools: { serach: 5 } }, ["search"]))
    assert.strictEqual(unknown.field, "timeouts.tools")
    assert.include(unknown.message, "names \"serach\", which is not a tool of this agent; it has search")
    assert.deepStrictEqual(Result.getOrThrow(InputCheck.timeouts({ tools: { serach: 5 } })), {
      tools: { serach: Duration.millis(5) }
    })
    assert.strictEqual(refusal(InputCheck.timeouts({ tools: null as never })).field, "timeouts.tools")
  })

  it("of single tools do not hide a wrong limit of another step", () => {
    assert.strictEqual(refusal(InputCheck.timeouts({ gap: 0, tools: {} })).field, "timeouts.gap")
  })
})

describe("limits", () => {
  it("that are given replace the agent's one by one", () => {
    assert.deepStrictEqual(effective({ limits: { maxTurns: 5, maxToolCalls: 0 } }).limits, {
      maxTurns: 5,
      maxErrors: 20,
      maxCompactions: 3,
      maxToolCalls: 0
    })
  })

  it("of Infinity lift the agent's", () => {
    assert.deepStrictEqual(effective({ limits: { maxTurns: Infinity, maxDuration: Infinity } }).limits, {
      maxErrors: 20,
      maxCompactions: 3
    })
  })

  it.each<readonly [Duration.Input, number]>([
    ["5 seconds", 5000],
    [1500, 1500],
    [Duration.minutes(2), 120_000],
    [1.5, 1.5],
    [new Minutes(5), 300_000],
    [{ years: 0, months: undefined, minutes: 5 } as Duration.Input, 300_000]
  ])("of time may be %s", (maxDuration, millis) => {
    assert.strictEqual(effective({ limits: { maxDuration } }).limits.maxDuration, millis)
  })

  it.each<RunPolicy.LimitsInput>([
    { maxTurns: 0 },
    { maxTurns: -1 },
    { maxTurns: 1.5 },
    { maxTurns: NaN },
    { maxTurns: -Infinity },
    { maxTurns: "5" as unknown as number },
    { maxTurns: null as unknown as number },
    { maxToolRounds: -1 },
    { maxToolCalls: 0.5 },
    { maxErrors: NaN },
    { maxCompactions: null as unknown as number },
    { maxTokens: 0 },
    { maxDuration: 0 },
    { maxDuration: -5 },
    { maxDuration: NaN },
    { maxDuration: {} },
    { maxDuration: { minute: 1 } as never },
    { maxDuration: { minutes: 1, second: 5 } as Duration.Input },
    { maxDuration: new Minutes(5, 1) },
    { maxDuration: { minutes: "1" } as never },
    { maxDuration: { minutes: NaN } },
    { maxDuration: Promise.resolve("1 minute") as never },
    { maxDuration: 0n },
    { maxDuration: "soon" as Duration.Input },
    { maxDuration: Duration.zero }
  ])("of %o are refused by name", (limits) => {
    const [name] = Object.keys(limits)
    const { field, message } = refused({ limits })
    assert.strictEqual(field, `limits.${name}`)
    assert.include(message, `limits.${name} must be`)
  })

  it("that are refused are shown as they were given", () => {
    assert.include(refused({ limits: { maxTurns: NaN } }).message, "NaN")
    assert.include(refused({ limits: { maxTurns: -Infinity } }).message, "-Infinity")
    assert.include(refused({ limits: { maxTurns: 1.5 } }).message, "1.5")
    assert.include(refused({ limits: { maxTurns: "2" as never } }).message, "it is \"2\"")
  })
})

describe("tools", () => {
  it.each<readonly [string, Partial<RunInput.RunInput>]>([
    ["allowedTools", { allowedTools: ["search", "fly"] }],
    ["toolOrder", { toolOrder: ["fly"] }],
    ["toolPolicy.allowList", { toolPolicy: { allowList: ["fly"] } }]
  ])("that the agent does not have are refused in %s, listing those that it has", (field, input) => {
    const reason = refused(input)
    assert.strictEqual(reason.field, field)
    assert.include(reason.message, "\"fly\"")
    assert.include(reason.message, "search, pay")
  })

  it.each([0, -1, 1.5, NaN])("may not run %d at once", (maxParallel) => {
    assert.strictEqual(refused({ toolPolicy: { maxParallel } }).field, "toolPolicy.maxParallel")
  })

  it.each<readonly [string, InputCheck.Defaults, RunPolicy.ToolPolicy]>([
    ["run", defaults, { maxParallel: Infinity }],
    ["agent", { ...defaults, toolPolicy: { maxParallel: Infinity } }, {}]
  ])("may run at once without a bound if the %s says so, even after being read back", (_, given, toolPolicy) => {
    const { effective } = Result.getOrThrow(InputCheck.asked({ input: "hello", toolPolicy }, given))
    const policy = effective.toolPolicy
    assert.deepStrictEqual(JSON.parse(JSON.stringify(policy)), policy)
    assert.isAtLeast(policy.maxParallel ?? 1, 1_000_000)
  })

  it("stay as given, whatever becomes of the list", () => {
    const allowedTools = ["pay"]
    const { allowedTools: kept } = effective({ allowedTools })
    allowedTools.push("search")
    assert.deepStrictEqual(kept, ["pay"])
  })

  it("of an agent without any are refused, saying that it has none", () => {
    const checked = InputCheck.asked({ input: "hello", allowedTools: ["pay"] }, { ...defaults, tools: [] })
    assert.include(refusal(checked).message, "not a tool of this agent; it has none")
  })

  it("may be none of the agent's", () => {
    assert.deepStrictEqual(effective({ allowedTools: [] }).allowedTools, [])
  })

  it.each<readonly [unknown, string]>([
    [undefined, "undefined at [1]"],
    [null, "null at [1]"],
    [7, "number at [1]"],
    [Symbol("pay"), "symbol at [1]"]
  ])("are refused where one is %s", (wrong, named) => {
    assert.strictEqual(
      refused({ allowedTools: ["pay", wrong as string] }).message,
      `allowedTools names ${named}, which is not a tool of this agent; it has search, pay`
    )
  })
})

describe("an input from untyped code", () => {
  it.each<readonly [string, string, unknown]>([
    ["input", "input", undefined],
    ["input", "input", null],
    ["input", "input", 5],
    ["input", "input", {}],
    ["input", "input", [null]],
    ["history", "history", "hi"],
    ["history", "history", [null]],
    ["instructions", "instructions", 5],
    ["createSession", "createSession", "no"],
    ["allowedTools", "allowedTools", "pay"],
    ["allowedTools", "allowedTools", [undefined]],
    ["allowedTools", "allowedTools", Array(1)],
    ["toolOrder", "toolOrder", { 0: "pay" }],
    ["toolOrder", "toolOrder", [null]],
    ["limits", "limits", "none"],
    ["toolPolicy", "toolPolicy", 5],
    ["toolPolicy.allowList", "toolPolicy", { allowList: "pay" }],
    ["toolPolicy.allowList", "toolPolicy", { allowList: [undefined] }],
    ["toolPolicy.maxCallsPerRun", "toolPolicy", { maxCallsPerRun: null }],
    ["toolPolicy.maxCallsPerRun", "toolPolicy", { maxCallsPerRun: [] }],
    ["toolPolicy.maxCallsPerRun", "toolPolicy", { maxCallsPerRun: "many" }],
    ["toolPolicy.maxParallel", "toolPolicy", { maxParallel: null }],
    ["toolPolicy.approvalTimeout", "toolPolicy", { approvalTimeout: null }],
    ["toolPolicy.approvalTimeout", "toolPolicy", { approvalTimeout: "1000" }],
    ["toolPolicy.enabled", "toolPolicy", { enabled: "false" }],
    ["toolPolicy.continueOnError", "toolPolicy", { continueOnError: "no" }],
    ["toolPolicy.requireApprovalByDefault", "toolPolicy", { requireApprovalByDefault: 1 }]
  ])("is refused for its %s, where %s is %j", (field, name, value) => {
    assert.strictEqual(refused({ [name]: value }).field, field)
  })
})

describe("what is no object is refused", () => {
  it.each<unknown>([true, 3, "on", [[3]], () => 3])("as an agent's doomLoop: %o", (given) => {
    const { field, message } = refusal(InputCheck.doomLoop(given as never, []))
    assert.strictEqual(`${field}: ${message}`, "doomLoop: doomLoop must be an object such as { after: 3 }, or false")
  })

  it.each<unknown>(["work", { work: true }, true])("as a list of the tools that are exempt from it: %o", (exempt) => {
    assert.strictEqual(refusal(InputCheck.doomLoop({ exempt } as never, ["work"])).field, "doomLoop.exempt")
  })

  it.each<unknown>([true, 3, "10 seconds", null])("as timeouts: %o", (given) => {
    const { field, message } = refusal(InputCheck.timeouts(given as never))
    assert.strictEqual(`${field}: ${message}`, "timeouts: timeouts must be an object")
  })
})

describe("a misspelt name is refused, listing the valid ones", () => {
  const of = (name: string, value: unknown = 1) => ({ [name]: value })
  it("in an input, its limits and its policy", () => {
    const cases = [
      [of("sessionID", "s"), "sessionID", /^the input of a run has no "sessionID"; it has input, sessionId, /],
      [of("allowedTool", ["pay"]), "allowedTool", /allowedTools/],
      [{ limits: of("max_turns") }, "limits.max_turns", /^limits has no "max_turns"; it has maxTurns, /],
      [{ limits: of("constructor") }, "limits.constructor", /^limits has no "constructor"/],
      [
        { toolPolicy: of("allowlist", ["pay"]) },
        "toolPolicy.allowlist",
        /^toolPolicy has no "allowlist"; it has .*allowList/
      ]
    ] as const
    for (const [input, field, message] of cases) {
      const { field: named, message: said } = refused(input)
      assert.strictEqual(named, field)
      assert.match(said, message)
    }
    const nothing = { maxTurn: undefined, allowedTool: undefined }
    assert.deepStrictEqual(effective({ limits: nothing, ...nothing } as never), effective({}))
  })

  it("but not what an object has of its class", () => {
    class Limits extends Data.Class<{ readonly maxTurns: number }> {}
    assert.deepStrictEqual(effective({ limits: new Limits({ maxTurns: 3 }) }).limits.maxTurns, 3)
  })

  it("in an agent's options", () => {
    const ofTimeouts = refusal(InputCheck.timeouts(of("tols")))
    assert.strictEqual(ofTimeouts.field, "timeouts.tols")
    assert.match(ofTimeouts.message, /^timeouts has no "tols"; it has call, .*tools/)
    const ofLoops = refusal(InputCheck.doomLoop(of("count"), []))
    assert.strictEqual(ofLoops.field, "doomLoop.count")
    assert.match(ofLoops.message, /^doomLoop has no "count"; it has after, exempt$/)
  })
})

describe("data", () => {
  it("is kept as it will be read back", () => {
    const data = { at: new Date(0), none: undefined, list: [null, 1] }
    assert.deepStrictEqual(effective({ data: data as never }).data, { at: "1970-01-01T00:00:00.000Z", list: [null, 1] })
  })

  it.each<readonly [string, unknown]>([
    ["a bigint", { n: 1n }],
    ["a function", () => 1],
    [
      "a circle",
      (() => {
        const circle: Record<string, unknown> = {}
        return (circle.self = circle)
      })()
    ]
  ])("that is %s is refused", (_, data) => assert.strictEqual(refused({ data: data as never }).field, "data"))

  const circle: Record<string, unknown> = { id: 1 }
  circle["of me"] = [circle]
  const twice = { n: 1 }
  const thrower = {
    toJSON: () => {
      throw new Error("bug")
    }
  }
  it.each<readonly [unknown, RegExp]>([
    [1n, /^data is a bigint, which JSON does not have; give it as a number or a text$/],
    [{ user: { ids: [1, 2n] } }, /^data\.user\.ids\[1\] is a bigint/],
    [{ "a.b": { "": 1n } }, /^data\["a\.b"\]\[""\] is a bigint/],
    [{ a: twice, ab: twice, b: { twice, n: 1n } }, /^data\.b\.n is a bigint/],
    [{ at: new Map([[1, 2n]]), n: 3n }, /^data\.n is a bigint/],
    [{ a: circle }, /^data\.a\["of me"\]\[0\] leads back to what it is in, which JSON cannot say; leave it out$/],
    [{ a: { b: thrower } }, /^data is not JSON$/],
    [{ a: twice, b: twice, thrower }, /^data is not JSON$/],
    [() => 1, /^data is a function, which is not JSON$/],
    // what JSON would change, or leave out, without a word
    [NaN, /^data is NaN, which is not JSON$/],
    [new Date(NaN), /^data is an invalid Date, which is not JSON$/],
    [{ rows: [{ at: new Date(NaN) }] }, /^data\.rows\[0\]\.at is an invalid Date, which is not JSON$/],
    [{ price: Object(NaN) }, /^data\.price is NaN, which is not JSON$/],
    [[Object.assign(Object(-Infinity), { of: 1 })], /^data\[0\] is -Infinity, which is not JSON$/],
    [{ prices: [1, Infinity] }, /^data\.prices\[1\] is Infinity, which is not JSON$/],
    [{ "a.b": NaN }, /^data\["a\.b"\] is NaN, which is not JSON$/],
    [{ seats: new Map([[1, 2]]) }, /^data\.seats is a Map, which is not JSON$/],
    [{ seats: Object.assign(new Set([1]), { row: 2 }) }, /^data\.seats is a Set, which is not JSON$/],
    [{ tags: new Set([1]) }, /^data\.tags is a Set, which is not JSON$/],
    [{ why: new Error("no") }, /^data\.why is an Error, which is not JSON$/],
    [{ like: /x/ }, /^data\.like is a RegExp, which is not JSON$/],
    [{ file: { bytes: new Uint8Array([1, 2]) } }, /^data\.file\.bytes is a Uint8Array, which is not JSON$/],
    [{ id: Symbol("x") }, /^data\.id is a symbol, which is not JSON$/],
    [{ next: () => 1 }, /^data\.next is a function, which is not JSON$/],
    [[1, undefined], /^data\[1\] is undefined, which is not JSON$/]
  ])("that is not JSON is refused where it is not: %o", (data, says) => {
    assert.match(refused({ data: data as never }).message, says)
  })
})

describe("an id", () => {
  it.each(["a", "run-1", "Ünï ćödé", "x".repeat(200), "{}", "1"])("may be %s", (id) => {
    assert.deepStrictEqual(InputCheck.id("runId", id), Result.succeed(id))
  })

  it.each([
    "",
    " ",
    "\n",
    " a",
    "a ",
    "a\nb",
    "a\0b",
    "\u007f",
    "\u0085",
    "a\ud800",
    "x".repeat(201)
  ])("may not be %j", (id) => {
    const { field, message } = refusal(InputCheck.id("runId", id))
    assert.strictEqual(field, "runId")
    assert.include(message, "runId")
  })

  it.each([
    [" a", "runId must not begin or end with whitespace or contain control characters"],
    ["a\ud800", "runId must not hold half of a surrogate pair"],
    ["\udc00a", "runId must not hold half of a surrogate pair"]
  ])("that is %j is refused for what is wrong with it", (id, said) => {
    assert.strictEqual(refusal(InputCheck.id("runId", id)).message, said)
  })
})

describe("an agent's loop setting", () => {
  it.each([2, 20])("may end loops after %s calls", (after) => {
    assert.strictEqual(Result.getOrThrow(InputCheck.doomLoop({ after }, []))?.after, after)
  })

  it.each([1, 21, 2.5, NaN])("may not end loops after %s calls", (after) => {
    assert.strictEqual(refusal(InputCheck.doomLoop({ after }, [])).field, "doomLoop.after")
  })
})

describe("the tool policy", () => {
  it("of a run narrows the agent's and never widens it", () => {
    const base = { allowList: ["read", "pay"], requireApprovalByDefault: true, continueOnError: false, maxParallel: 2 }
    const over = { allowList: ["pay", "drop"], requireApprovalByDefault: false, continueOnError: true, enabled: true }
    assert.deepStrictEqual(RunPolicy.narrow(base, over), {
      allowList: ["pay"],
      requireApprovalByDefault: true,
      continueOnError: false,
      maxParallel: 2
    })
    assert.deepStrictEqual(RunPolicy.narrow({ enabled: false }, { enabled: true, maxParallel: 4 }), {
      enabled: false,
      maxParallel: 4
    })
  })
})
