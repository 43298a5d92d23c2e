/** Sessions as lines of JSON: out of and into each store, and what is refused without leaving a trace. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as SessionStoreMemory from "../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../src/layers/SessionStoreSqlite.ts"
import * as Message from "../src/run/Message.ts"
import * as RunError from "../src/run/RunError.ts"
import * as RunEvent from "../src/run/RunEvent.ts"
import { Migrations } from "../src/services/Migrations.ts"
import * as SessionStore from "../src/services/SessionStore.ts"
import * as SessionLines from "../src/SessionLines.ts"
import * as ScriptedModel from "../src/testing/ScriptedModel.ts"
import * as Fixtures from "../src/testing/sessions/Fixtures.ts"
import * as Compactions from "./support/Compactions.ts"
import * as Draft from "./support/Drafts.ts"
import * as Logs from "./support/Logs.ts"
import * as TestAgent from "./support/TestAgent.ts"
import * as TestStore from "./support/TestStore.ts"

type Lines = ReadonlyArray<string>
type Make = Effect.Effect<SessionStore.Store, SessionStore.StoreError, Scope.Scope>

const stores: Record<string, Make> = {
  "memory": SessionStoreMemory.make,
  "SQLite": SessionStoreSqlite.make({ filename: ":memory:" })
}

const on = (store: SessionStore.Store) => Effect.provideService(SessionStore.SessionStore, store)
const exported = (store: SessionStore.Store, sessionId = "s") =>
  Effect.map(on(store)(Stream.runCollect(SessionLines.toLines(sessionId))), (lines): Lines => lines)
const imported = (store: SessionStore.Store, lines: Lines, options?: SessionLines.Options) =>
  on(store)(SessionLines.fromLines(Stream.fromIterable(lines), options))

/** The lines of a log that no store has held. */
const linesOf = (events: ReadonlyArray<RunEvent.Durable>) =>
  Effect.gen(function*() {
    const store = yield* SessionStoreMemory.make
    yield* on(store)(Fixtures.write("s", events as SessionLines.Decoded["events"]))
    return yield* exported(store)
  })

const { answer, completed, notice, started } = Fixtures
const strange = { _tag: "FromTomorrow", ...Fixtures.base({ seq: 2 }), payload: { deep: [1, null, "\ud800\0"] } }
const log = [started({ seq: 1 }), strange as unknown as RunEvent.Durable, answer({ seq: 3 }), completed({ seq: 4 })]

/** A refusal that leaves no session behind, and what it says. */
const refusal = (lines: Lines, options?: SessionLines.Options) =>
  Effect.gen(function*() {
    const store = yield* SessionStoreMemory.make
    const reason = yield* Fixtures.reasonOf(imported(store, lines, options))
    assert.deepStrictEqual(yield* store.list(), [])
    // the id is free
    yield* Effect.scoped(store.open("s", { runId: "r", create: true }))
    return reason
  })

const messageOf = (reason: RunError.RunReason | RunError.RunRefusal, tag: string): string => {
  assert.strictEqual(reason._tag, tag)
  return reason.message
}

describe("an export", () => {
  for (const [name, make] of Object.entries(stores)) {
    it.effect(`of ${name} is a header and one line for each event, whatever its type`, () =>
      Effect.gen(function*() {
        const store = yield* make
        yield* on(store)(Fixtures.write("s", log as unknown as SessionLines.Decoded["events"]))
        const [header, ...events] = yield* exported(store)
        assert.deepStrictEqual(JSON.parse(header!), {
          format: "fiberloop/session",
          version: 1,
          sessionId: "s",
          events: 4
        })
        assert.deepStrictEqual<unknown>(events.map((line) => JSON.parse(line)), log)
        assert.isTrue(
          events.every((line) => /^\{"_tag":"\w+","seq":\d,"at":\d+,"runId":"run-1","version":1[,}]/.test(line))
        )
      }))
  }

  it.effect("of a session that is still growing ends with what was there when the export began", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreSqlite.make({ filename: ":memory:" })
      const session = yield* store.open("s", { runId: "r", create: true })
      yield* session.append(Fixtures.notices(1, 2000))
      const lines = yield* SessionLines.toLines("s").pipe(
        Stream.tap((line) => line.includes("\"seq\":1,") ? session.append([notice({ seq: 2001 })]) : Effect.void),
        Stream.runCollect,
        on(store)
      )
      assert.strictEqual(lines.length, 2001)
      assert.strictEqual((yield* imported(yield* SessionStoreMemory.make, lines)).head, 2000)
    }))

  it.effect("of a run whose tool slept for a part of a millisecond can be imported again", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([[TestAgent.work(1)], ScriptedModel.text("done")], {
        tool: () => Effect.as(Effect.sleep(861.37), "slept")
      })
      const running = yield* Effect.forkChild(agent.run({ input: "go", sessionId: "s" }), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(running)
      const lines = yield* exported(store.service)
      assert.strictEqual((yield* imported(yield* SessionStoreMemory.make, lines)).end, "RunCompleted")
    }))

  it.effect("of a session that does not exist is SessionNotFound", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreMemory.make
      assert.strictEqual((yield* Fixtures.reasonOf(exported(store)))._tag, "SessionNotFound")
    }))

  it.effect("of a session from a newer version is refused", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreMemory.make
      yield* on(store)(Fixtures.write("s", [{ ...notice({ seq: 1 }), version: RunEvent.version + 1 }]))
      assert.strictEqual((yield* Fixtures.reasonOf(exported(store)))._tag, "StoreRefused")
    }))
})

describe("an import", () => {
  for (const [from, makeFrom] of Object.entries(stores)) {
    for (const [to, makeTo] of Object.entries(stores)) {
      it.effect.prop(
        `of what ${from} exported is exported by ${to} as the same bytes`,
        [Logs.odd],
        ([{ log }]) =>
          Effect.gen(function*() {
            const [first, second] = [yield* makeFrom, yield* makeTo]
            yield* on(first)(Fixtures.write("s", log as SessionLines.Decoded["events"]))
            const lines = yield* exported(first)
            yield* imported(second, lines)
            assert.deepStrictEqual(yield* exported(second), lines)
            assert.deepStrictEqual<unknown>(yield* Stream.runCollect(second.read("s")), log)
          }),
        { arbitrary: { runs: 30, size: 60, seed: "lines" } }
      )
    }
  }

  for (const [name, make] of Object.entries(stores)) {
    it.effect(`under another id in ${name} differs only in the header, and is listed like the original`, () =>
      Effect.gen(function*() {
        const store = yield* make
        const lines = yield* linesOf(log)
        const original = yield* imported(store, lines)
        const copy = yield* imported(store, lines, { to: "copy" })
        const { createdAt: _1, ...shown } = original
        const { createdAt: _2, ...copied } = copy
        assert.deepStrictEqual(copied, { ...shown, sessionId: "copy" })
        const [header, ...events] = yield* exported(store, "copy")
        assert.strictEqual(header, lines[0]!.replace("\"s\"", "\"copy\""))
        assert.deepStrictEqual(events, lines.slice(1))
      }))

    it.effect(`into ${name} answers a hello`, () =>
      Effect.gen(function*() {
        const store = yield* make
        yield* imported(store, yield* linesOf(log))
        const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store: TestStore.over(store) })
        assert.strictEqual((yield* agent.run({ input: "hello", sessionId: "s" })).text, "hello!")
      }))
  }

  it.effect("takes the session of a model of one's own that fails with a status that is no number", () =>
    Effect.gen(function*() {
      const failed = ScriptedModel.fail(
        new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "InvalidRequest", message: "no", status: NaN })
      )
      const { agent, store } = yield* TestAgent.make([failed])
      yield* Effect.flip(agent.run({ input: "go", sessionId: "s" }))
      const lines = yield* exported(store.service)
      assert.strictEqual((yield* imported(yield* SessionStoreMemory.make, lines)).head, lines.length - 1)
    }))

  it.effect("is one append, so that nobody sees part of it", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* imported(store.service, yield* linesOf(Fixtures.notices(1, 3000)))
      assert.deepStrictEqual(store.appends.map((batch) => batch.length), [3000])
    }))

  it.effect("that the store refuses leaves nothing behind", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make(TestStore.failing(() => true))
      const reason = yield* Fixtures.reasonOf(imported(store.service, yield* linesOf(log)))
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* store.service.list(), [])
    }))

  it.effect("accepts lines that an editor ended with carriage returns", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreMemory.make
      yield* imported(store, (yield* linesOf(log)).map((line) => `${line}\r`))
      assert.deepStrictEqual<unknown>(yield* Stream.runCollect(store.read("s")), log)
    }))

  it.effect("skips blank lines after the last one", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreMemory.make
      assert.strictEqual((yield* imported(store, [...(yield* linesOf(log)), "", " \r"])).head, 4)
    }))

  it.effect("is refused at the first line too many, whatever comes after it", () =>
    Effect.gen(function*() {
      const lines = yield* linesOf(log)
      const endless = Stream.concat(Stream.fromIterable([...lines, lines[1]!]), Stream.never)
      const reason = yield* Fixtures.reasonOf(SessionLines.decode(endless))
      assert.include(messageOf(reason, "InvalidInput"), "there are more")
    }))

  it.effect("of older events stores them in this version's form", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreMemory.make
      const lines = (yield* linesOf(log)).map((line, at) =>
        at === 3 ? line.replace("\"version\":1", "\"version\":0") : line
      )
      const steps = { 0: { AssistantMessage: (event: object) => ({ ...event, attempt: 7 }) } }
      yield* Effect.provideService(imported(store, lines), Migrations, steps)
      const [, , message] = yield* Stream.runCollect(store.read("s"))
      assert.deepStrictEqual(message, { ...log[2], attempt: 7 } as RunEvent.Durable)
    }))
})

describe("an import under an id that no run may have is refused, and leaves nothing behind", () => {
  const renamed = Effect.map(
    linesOf(Draft.log(Draft.started("go"))),
    ([header, ...events]) => [header!.replace("\"s\"", JSON.stringify("red\u001b[31m")), ...events]
  )

  for (
    const [claim, lines, to] of [
      ["of its lines", renamed, undefined],
      ["of its caller", linesOf(Draft.log(Draft.started("go"))), " a "]
    ] as const
  ) {
    it.effect(claim, () =>
      Effect.gen(function*() {
        const message = messageOf(yield* refusal(yield* lines, to === undefined ? {} : { to }), "InvalidInput")
        for (const words of ["must not begin", "nothing was imported", "another id"]) assert.include(message, words)
      }))
  }

  it.effect.each([["of its lines", undefined], ["of its caller", ""]] as const)(
    "%s, even if the id is blank, without advice to leave it out",
    ([, to]) =>
      Effect.gen(function*() {
        const [header, ...events] = yield* linesOf(Draft.log(Draft.started("go")))
        const lines = [header!.replace("\"s\"", "\" \""), ...events]
        const message = messageOf(yield* refusal(lines, to === undefined ? {} : { to }), "InvalidInput")
        assert.match(message, /^(the session's id|to) is empty; nothing was imported\. Import under another id\.$/)
      })
  )

  it.effect("unless the caller gives another", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreMemory.make
      assert.strictEqual((yield* imported(store, yield* renamed, { to: "plain" })).sessionId, "plain")
    }))
})

describe("an import under an id that is in use", () => {
  for (const [name, make] of Object.entries(stores)) {
    it.effect(`is refused by ${name}, which overwrites nobody's session and changes nothing`, () =>
      Effect.gen(function*() {
        const store = yield* make
        yield* on(store)(Fixtures.write("s", Fixtures.notices(1, 2)))
        const before = yield* exported(store)
        const unopened = { ...store, open: () => Effect.die("it was opened") }
        const message = messageOf(yield* Fixtures.reasonOf(imported(unopened, yield* linesOf(log))), "InvalidInput")
        assert.include(message, "Session \"s\" already exists")
        assert.deepStrictEqual(yield* exported(store), before)
      }))

    it.effect(`is busy in ${name} while somebody has the session open`, () =>
      Effect.scoped(Effect.gen(function*() {
        const store = yield* make
        yield* store.open("s", { runId: "r", create: true })
        assert.strictEqual((yield* Fixtures.reasonOf(imported(store, yield* linesOf(log))))._tag, "SessionBusy")
      })))
  }
})

describe("an import of a log that ends inside a run", () => {
  const inTurn = Draft.log(Draft.started("go"), Draft.turnStarted(1), Draft.assistant([Draft.call("work", { n: 1 })]))
  const inRound = Draft.log(
    Draft.started("go"),
    Draft.turnStarted(1),
    Draft.assistant([Draft.call("work", { n: 1 })]),
    Draft.toolStarted("1.0")
  )
  const dead = Draft.log(
    Draft.started("go"),
    Draft.turnStarted(1),
    Draft.assistant([Draft.call("work", { n: 1 })]),
    Draft.toolStarted("1.0"),
    { ...Draft.aborted, reason: "crashed" as const }
  )
  const asked = [
    Draft.started("go"),
    Draft.turnStarted(1),
    Draft.assistant([Draft.call("work", { n: 1 })]),
    Draft.approvalRequested("1.0"),
    Draft.suspended
  ] as const
  const allowed = Draft.log(...asked, Draft.approvalResolved("1.0"))
  const between = Draft.log(Draft.started("go"), Draft.turnStarted(1))

  for (
    const [claim, log, end] of [
      ["before its tools", inTurn, undefined],
      ["in a tool", inRound, undefined],
      ["in a tool, and was found dead,", dead, undefined],
      ["after a person's yes to a call", allowed, "RunSuspended"]
    ] as const
  ) {
    it.effect(`${claim} is accepted under its own id`, () =>
      Effect.gen(function*() {
        const store = yield* SessionStoreMemory.make
        assert.strictEqual((yield* imported(store, yield* linesOf(log), { to: "s" })).end, end)
        assert.deepStrictEqual(yield* Stream.runCollect(store.read("s")), [...log])
      }))

    it.effect(`${claim} is refused under another id, where its calls could run twice`, () =>
      Effect.gen(function*() {
        const message = messageOf(yield* refusal(yield* linesOf(log), { to: "copy" }), "InvalidInput")
        for (const words of ["session \"s\"", "under its own id"]) assert.include(message, words)
      }))
  }

  it.effect("and waits for no tool is accepted under any id", () =>
    Effect.gen(function*() {
      const store = yield* SessionStoreMemory.make
      assert.strictEqual((yield* imported(store, yield* linesOf(between), { to: "copy" })).head, 2)
    }))

  it.effect("and waits for a person, or was denied, is accepted under any id", () =>
    Effect.gen(function*() {
      for (const answer of [[], [Draft.approvalResolved("1.0", false)]]) {
        const store = yield* SessionStoreMemory.make
        const waiting = Draft.log(...asked, ...answer)
        assert.strictEqual((yield* imported(store, yield* linesOf(waiting), { to: "copy" })).head, waiting.length)
      }
    }))
})

describe("lines that are not a session are refused by line number, and leave nothing behind", () => {
  const at = (line: number, change: (text: string) => string) => (lines: Lines) =>
    lines.map((text, index) => index === line - 1 ? change(text) : text)
  const replaced = (line: number, from: string | RegExp, to: string) => at(line, (text) => text.replace(from, to))

  for (
    const [claim, damage, ...parts] of [
      ["none at all", () => [], "There are no lines"],
      ["a file that is something else", at(1, () => "# Notes"), "Line 1 is not a JSON object"],
      ["JSON that is something else", at(1, () => "{\"name\":\"x\"}"), "Line 1 is not the header"],
      [
        "a header without an id",
        replaced(1, "\"s\"", "\"\""),
        "Line 1 is a header whose \"sessionId\" is missing or wrong"
      ],
      [
        "a header with an id that no database keeps",
        replaced(1, "\"s\"", "\"a\\u0000\""),
        "Line 1 is a header whose \"sessionId\" is missing or wrong"
      ],
      [
        "a header of no version",
        replaced(1, "\"version\":1,", ""),
        "Line 1 is a header whose \"version\" is missing or wrong"
      ],
      [
        "a header without a count",
        replaced(1, /,"events":\d+/, ""),
        "Line 1 is a header whose \"events\" is missing or wrong"
      ],
      [
        "a header of no events",
        (lines: Lines) => [lines[0]!.replace(/"events":\d+/, "\"events\":0")],
        "Line 1 is a header whose \"events\" is missing or wrong"
      ],
      ["no header", (lines: Lines) => lines.slice(1), "Line 1 is not the header"],
      ["a line that was cut", at(3, (text) => text.slice(0, -5)), "Line 3 is not a JSON object"],
      ["a list", at(3, () => "[]"), "Line 3 is not a JSON object"],
      ["an empty line", (lines: Lines) => [...lines.slice(0, 2), "", ...lines.slice(2)], "Line 3 is empty"],
      ["an event without a type", replaced(3, "\"FromTomorrow\"", "null"), "Line 3 holds an event whose \"_tag\" is"],
      ["a number that is a text", replaced(3, "\"seq\":2", "\"seq\":\"2\""), "Line 3 holds an event whose \"seq\" is"],
      ["a time that is none", replaced(3, "\"at\":20", "\"at\":2.5"), "Line 3 holds an event whose \"at\" is"],
      [
        "a run that no database keeps",
        replaced(3, "\"run-1\"", "\"a\\u0000\""),
        "Line 3 holds an event whose \"runId\" is"
      ],
      ["a missing event", (lines: Lines) => lines.toSpliced(2, 1), "Line 3 holds event 3, but event 2 is next"],
      ["an event twice", (lines: Lines) => lines.toSpliced(2, 0, lines[1]!), "Line 3 holds event 1"],
      [
        "a field that is wrong",
        replaced(4, "\"attempt\":1", "\"attempt\":\"one\""),
        "Line 4",
        "AssistantMessage",
        "\"attempt\""
      ],
      ["a field that is missing", replaced(4, /"message":.*?\]\},/, ""), "Line 4", "\"message\""],
      ["a version before the first", replaced(4, "\"version\":1", "\"version\":0"), "Line 4", "version 0"],
      ["an end that was cut off", (lines: Lines) => lines.slice(0, -1), "names 4 events, but there are 3", "cut off"],
      [
        "lines after the end",
        (lines: Lines) => [...lines, lines[2]!.replace("\"seq\":2", "\"seq\":5")],
        "The header names 4 events, but there are more"
      ],
      [
        "data nested without end",
        replaced(4, "\"usage\":{", `"usage":{"x":${"[".repeat(1e5)}${"]".repeat(1e5)},`),
        "Line 4"
      ]
    ] as const
  ) {
    it.effect(claim, () =>
      Effect.gen(function*() {
        const message = messageOf(yield* refusal(damage(yield* linesOf(log))), "InvalidInput")
        for (const part of [...parts, "nothing was imported"]) assert.include(message, part)
        assert.notInclude(message, "\n")
      }))
  }

  const nested = (levels: number) => {
    const { completed, started } = Draft
    const lines = linesOf(Draft.log(started("go", { data: "deep" }), completed()))
    const data = `"data":${"[".repeat(levels)}${"]".repeat(levels)}`
    return Effect.map(lines, (lines) => lines.map((line) => line.replace("\"data\":\"deep\"", data)))
  }

  it.effect("data nested deeper than a run may give it, which can be read here but not written there", () =>
    Effect.gen(function*() {
      const message = messageOf(yield* refusal(yield* nested(1100)), "InvalidInput")
      assert.include(message, "Line 2 holds a RunStarted that is nested too deeply")
      assert.strictEqual((yield* imported(yield* SessionStoreMemory.make, yield* nested(1000))).head, 2)
    }))

  it.effect("a snapshot that differs from what the lines before it make", () =>
    Effect.gen(function*() {
      const compacted = Compactions.withSnapshots(Draft.log(
        Draft.started("go"),
        Draft.turnStarted(1),
        Draft.assistant([Draft.call("work", { n: 1 })]),
        Draft.approvalRequested("1.0"),
        Draft.suspended,
        Draft.compacted(1, [Message.user("summary")])
      ))
      const lines = yield* linesOf(compacted)
      const message = messageOf(
        yield* refusal(replaced(7, "\"phase\":\"awaiting\"", "\"phase\":\"gone\"")(lines)),
        "InvalidInput"
      )
      assert.strictEqual(
        message,
        "Line 7 holds a ContextCompacted whose \"snapshot.state.openCalls.0.phase\" does not follow from the lines before it; " +
          "nothing was imported. Export the session again, or correct the lines if they were edited."
      )
      assert.strictEqual((yield* imported(yield* SessionStoreMemory.make, lines)).head, 6)
    }))

  for (
    const [claim, damage] of [
      ["lines", replaced(1, "\"version\":1", "\"version\":2")],
      ["an event", replaced(3, "\"version\":1", "\"version\":2")]
    ] as const
  ) {
    it.effect(`${claim} from a newer version`, () =>
      Effect.gen(function*() {
        const message = messageOf(yield* refusal(damage(yield* linesOf(log))), "StoreRefused")
        for (const part of ["version 2", "up to version 1", "Update fiberloop"]) assert.include(message, part)
      }))
  }

  it.effect("an event larger than a store accepts", () =>
    Effect.gen(function*() {
      const large = `"text":"${"x".repeat(SessionStore.maxEventBytes)}"`
      const lines = (yield* linesOf([notice({ seq: 1 })])).map((line) => line.replace("\"text\":\"notice\"", large))
      assert.strictEqual((yield* refusal(lines))._tag, "EventTooLarge")
    }))

  it.effect("without revealing what they hold", () =>
    Effect.gen(function*() {
      const lines = (yield* linesOf(log)).map((line) => line.replace("\"attempt\":1", "\"attempt\":\"secret\""))
      assert.notInclude(messageOf(yield* refusal(lines), "InvalidInput"), "secret")
    }))
})
