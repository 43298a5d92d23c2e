/** Calls that wait for an approval: listed, decided about from the command line, and continued. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as AnsweredBy from "../../src/cli/approval/AnsweredBy.ts"
import * as AgentName from "../../src/cli/session/AgentName.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Drafts from "../support/Drafts.ts"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import { workplace } from "./Invoke.ts"
import * as Replies from "./Replies.ts"

const write = (name: string) => ({ path: `${name}.txt`, content: `${name}\n` })

/** The result that write_file would give for the first of them. */
const written = { path: "a.txt", bytes: 2, lines: 1, created: true }

interface Asking {
  readonly agent?: string
  readonly expiresAt?: number
  readonly id?: string
  /** its process died before it suspended */
  readonly isLeft?: true
  /** what came after it was suspended, of one call */
  readonly later?: ReadonlyArray<Drafts.Placed>
  readonly model?: typeof Drafts.model
}

/** A place with a session suspended on one call of write_file for each of these names. */
const waiting = Effect.fnUntraced(function*(
  names: ReadonlyArray<string> = ["a"],
  { agent = AgentName.own, expiresAt, id = "waiting-one", isLeft, later = [], model = Drafts.model }: Asking = {}
) {
  const place = yield* workplace()
  const log = Drafts.log(
    { ...Drafts.started("write it down"), agent },
    { ...Drafts.turnStarted(1), model },
    Drafts.assistant(names.map((name) => Drafts.call("write_file", write(name)))),
    ...names.map((name, i) => ({
      ...Drafts.approvalRequested(`1.${i}`),
      tool: "write_file",
      approvalId: `run-1/1.${i}`,
      params: write(name),
      ...(expiresAt === undefined ? {} : { expiresAt })
    })),
    ...(isLeft ? [] : [Drafts.suspended]),
    ...later
  )
  yield* SessionStore.SessionStore.use((store) =>
    Effect.scoped(Effect.flatMap(
      store.open(id, { runId: "run-1", create: true }),
      (session) => session.append(log as never)
    ))
  ).pipe(Effect.provide(place.store))
  const events = SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(id))).pipe(
    Effect.provide(place.store)
  )
  const answers = Effect.map(events, (log) => RunLog.only(log, "ApprovalResolved"))
  return { ...place, id, events, answers }
})

type Waiting = Effect.Success<ReturnType<typeof waiting>>

/** Continues the session without a terminal, on a model that says this. */
const resume = Effect.fnUntraced(function*(place: Pick<Waiting, "id" | "on" | "root">) {
  const model = yield* OpenAiServer.make(Replies.says("Done."))
  const args = ["--root", place.root, "--model", "m", place.id]
  const end = yield* place.on("resume", args, { env: Replies.env(model) })
  return { ...end, model, made: (name: string) => join(place.root, `${name}.txt`) }
})

describe("a session that is imported", () => {
  it.effect("names the calls that run on its origin's approval, and a new task leaves them out", () =>
    Effect.gen(function*() {
      const { id, on, root } = yield* waiting(["a", "b\u200b".repeat(40)])
      yield* on("approve", [id, "1.0"])
      yield* on("approve", [id, "1.1", "--params", JSON.stringify(write("other"))])
      const file = join(root, "session.jsonl")
      yield* on("export", [id, "--to", file])
      const there = yield* workplace()
      const { stderr } = yield* there.on("import", [file])
      assert.include(
        stderr,
        "These calls of it were approved: going on with its last run makes them without asking anybody; a new task leaves " +
          "them out.\n  1.0  write_file path=\"a.txt\" content=\"a\\n\"\n  1.1  write_file path=\"other.txt\""
      )
      const model = yield* OpenAiServer.make(Replies.says("Hello."))
      const goOn = ["--root", there.root, "--model", "m", "--session", id, "hello"]
      assert.strictEqual((yield* there.on("run", goOn, { env: Replies.env(model) })).code, 0)
      assert.isFalse(existsSync(join(there.root, "a.txt")))
    }))

  it.effect("names the calls that run because they claim to have waited for others", () =>
    Effect.gen(function*() {
      const { id, on, root } = yield* waiting()
      const file = join(root, "session.jsonl")
      yield* on("export", [id, "--to", file])
      const paused = readFileSync(file, "utf8").replace(
        /"_tag":"ApprovalRequested"(.*?),"approvalId".*/,
        `"_tag":"ToolPaused"$1,"waitsFor":[],"duration":0}`
      )
      writeFileSync(file, paused)
      const there = yield* workplace()
      const { stderr } = yield* there.on("import", [file])
      assert.include(stderr, "without asking anybody; a new task leaves them out.\n  1.0  write_file path=\"a.txt\"")
      assert.strictEqual((yield* resume({ ...there, id })).code, 0)
      assert.isTrue(existsSync(join(there.root, "a.txt")))
    }))

  it.effect("names the calls whose results it brings along", () =>
    Effect.gen(function*() {
      const { id, on, root } = yield* waiting(["a", "b"])
      yield* on("approve", [id, "1.0", "--result", JSON.stringify(written)])
      const file = join(root, "session.jsonl")
      yield* on("export", [id, "--to", file])
      const { stderr } = yield* (yield* workplace()).on("import", [file])
      assert.include(
        stderr,
        "A person gave the results of these calls instead of the tools: the model reads them as the tools' own.\n" +
          "  1.0  write_file path=\"a.txt\""
      )
      assert.notInclude(stderr, "were approved")
    }))

  it.effect("names no calls if nobody said yes", () =>
    Effect.gen(function*() {
      const { id, on, root } = yield* waiting(["a", "b"])
      yield* on("deny", [id, "1.0"])
      const file = join(root, "session.jsonl")
      yield* on("export", [id, "--to", file])
      assert.notInclude((yield* (yield* workplace()).on("import", [file])).stderr, "1.")
    }))
})

describe("fiberloop approvals", () => {
  it.effect("names a session that it cannot read, rather than say that nothing waits there", () =>
    Effect.gen(function*() {
      const { on, store } = yield* waiting()
      const newer = { ...Drafts.suspended, version: RunEvent.version + 1 }
      yield* SessionStore.SessionStore.use((store) =>
        Effect.scoped(Effect.flatMap(
          store.open("of-tomorrow", { runId: "run-1", create: true }),
          (session) => session.append(Drafts.log(Drafts.started("go"), newer as never) as never)
        ))
      ).pipe(Effect.provide(store))
      const { code, stderr } = yield* on("approvals")
      assert.notStrictEqual(code, 0)
      assert.include(stderr, "of-tomorrow")
    }))

  it.effect("lists what waits under its session, with its arguments and its age", () =>
    Effect.gen(function*() {
      const { db, on } = yield* waiting(["a", "b"])
      const { code, stderr, stdout } = yield* on("approvals")
      assert.strictEqual(code, 0)
      assert.match(
        stdout,
        /^waiting-one {2}write it down\n {2}1\.0 {2}write_file path="a\.txt" content="a\\n" {2}asked just now\n {2}1\.1 {2}write_file /
      )
      assert.strictEqual(stderr, `Decide with: fiberloop approve --db ${db} <session> <question>, or deny\n`)
    }))

  it.effect("lists what waits in a run that is not suspended, too, until it is decided", () =>
    Effect.gen(function*() {
      const { answers, id, on } = yield* waiting(["a"], { isLeft: true })
      assert.match((yield* on("approvals")).stdout, /^waiting-one .*\n {2}1\.0 {2}write_file /)
      assert.strictEqual((yield* on("deny", [id, "1.0"])).code, 0)
      assert.strictEqual((yield* on("approvals")).stdout, "")
      assert.lengthOf(yield* answers, 1)
    }))

  it.effect("shows arguments in full if they do not fit on one line", () =>
    Effect.gen(function*() {
      const long = "x".repeat(200)
      const { on } = yield* waiting([long])
      assert.include((yield* on("approvals")).stdout, `      "content": "${long}\\n"\n`)
    }))

  it.effect("hides nothing in the arguments, on one line or in full", () =>
    Effect.gen(function*() {
      const hidden = "a\u200bb\u{e0061}\u3164\u00a0"
      const { on } = yield* waiting([hidden, hidden.repeat(20)])
      const { stdout } = yield* on("approvals")
      assert.match(stdout, /^[ -~…\n]*$/)
      assert.include(stdout, "1.0  write_file path=\"a\\u200bb\\U000e0061\\u3164\\u00a0.txt\"")
      assert.include(stdout, "      \"path\": \"a\\u200bb\\U000e0061\\u3164\\u00a0a\\u200b")
    }))

  it.effect("--json prints each on a line with its session", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting(["a", "b"])
      const lines = (yield* on("approvals", ["--json"])).stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(lines[1], {
        sessionId: "waiting-one",
        agent: AgentName.own,
        id: "run-1/1.1",
        callId: "1.1",
        tool: "write_file",
        params: write("b"),
        requestedAt: 5
      })
      assert.strictEqual(lines.length, 2)
    }))

  it.effect("--session shows those of one session, found by the beginning of its id", () =>
    Effect.gen(function*() {
      const { on } = yield* waiting()
      assert.include((yield* on("approvals", ["--session", "waitin"])).stdout, "1.0  write_file")
      assert.strictEqual((yield* on("approvals", ["--session", "nobody"])).code, 1)
    }))

  it.effect("says that nothing waits if all is decided or there is no database, and creates none", () =>
    Effect.gen(function*() {
      const { id, on } = yield* waiting()
      yield* on("deny", [id])
      assert.deepStrictEqual(yield* Effect.map(on("approvals"), ({ code, stderr, stdout }) => [code, stdout, stderr]), [
        0,
        "",
        "Nothing waits for an approval.\n"
      ])
      const none = yield* workplace()
      const said = `Nothing waits for an approval: there is no database ${JSON.stringify(none.db)}.\n`
      assert.strictEqual((yield* none.on("approvals")).stderr, said)
      assert.isFalse(existsSync(none.db))
    }))
})

describe("a question that has expired", () => {
  const word = (place: Waiting) =>
    Effect.map(place.on("sessions"), ({ stdout }) => /^waiting-one {2}(\S+)/.exec(stdout)?.[1])

  it.effect("no longer leaves its session waiting, according to approvals and show", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a"], { expiresAt: 1000 })
      assert.strictEqual(yield* word(place), "waiting")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* place.on("approvals")).stderr, "Nothing waits for an approval.\n")
      assert.include((yield* place.on("show", [place.id])).stdout, "\nDecided; go on with: ")
      assert.strictEqual(yield* word(place), "decided")
    }))
})

describe("fiberloop approve", () => {
  it.effect("allows the one call that waits, runs nothing, and says how to continue", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const { code, stderr, stdout } = yield* place.on("approve", ["waitin", "--by", "ann"])
      assert.deepStrictEqual([code, stdout], [0, "✓ approved: write_file path=\"a.txt\" content=\"a\\n\"\n"])
      assert.strictEqual(stderr, `Go on with: fiberloop resume waiting-one --db ${place.db}\n`)
      assert.deepInclude((yield* place.answers)[0], { approvalId: "run-1/1.0", approved: true, by: "ann" })
      assert.isFalse(existsSync(join(place.root, "a.txt")))
    }))

  it.effect("says how to continue with the model that the session used", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a"], { model: { provider: "openai-compatible", name: "m" } })
      const { stderr } = yield* place.on("approve", [place.id])
      assert.strictEqual(stderr, `Go on with: fiberloop resume waiting-one --db ${place.db} --model m\n`)
    }))

  it.effect("shows the call, whether given its own id or that of its question", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a", "b"])
      const [a, b] = [
        yield* place.on("approve", [place.id, "1.0"]),
        yield* place.on("approve", [place.id, "run-1/1.1"])
      ]
      assert.match(a.stdout, /^✓ approved: write_file path="a\.txt"/)
      assert.match(b.stdout, /^✓ approved: write_file path="b\.txt"/)
    }))

  it.effect("lets resume continue without asking again", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      yield* place.on("approve", [place.id])
      const { code, made, stdout } = yield* resume(place)
      assert.deepStrictEqual([code, stdout], [0, "Done.\n"])
      assert.strictEqual(readFileSync(made("a"), "utf8"), "a\n")
    }))

  it.effect("shows up in show, which says how to continue once nothing waits", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a", "b"])
      yield* place.on("approve", [place.id, "1.0"])
      assert.include((yield* place.on("show", [place.id])).stdout, "\nDecide with: fiberloop approve waiting-one ")
      yield* place.on("deny", [place.id])
      const { stdout } = yield* place.on("show", [place.id])
      assert.include(stdout, `\nDecided; go on with: fiberloop run --session waiting-one --db ${place.db}\n`)
      assert.notInclude(stdout, "Decide with")
    }))

  it.effect("shows up in sessions once nothing waits", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a", "b"])
      yield* place.on("approve", [place.id, "1.0"])
      assert.match((yield* place.on("sessions")).stdout, /^waiting-one {2}waiting {2}/)
      yield* place.on("deny", [place.id])
      assert.match((yield* place.on("sessions")).stdout, /^waiting-one {2}decided {2}/)
    }))

  it.effect("shows up in show --context, which shows an unstarted call as a new message would find it", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const before = yield* place.on("show", [place.id, "--context"])
      assert.include(before.stdout, "\n← write_file  ✗ failed\n    Denied: superseded by a new message\n")
      assert.include(before.stdout, "… 1 call without a result yet: shown here as after a new message\n")
      yield* place.on("approve", [place.id])
      const { stdout } = yield* place.on("show", [place.id, "--context"])
      assert.include(stdout, "\n    Not executed: a new message arrived first.\n")
    }))

  it.effect("says how many others of the session still wait", () =>
    Effect.gen(function*() {
      const { db, id, on } = yield* waiting(["a", "b", "c"])
      const still = (what: string) => `${what}: fiberloop approvals --session waiting-one --db ${db}\nGo on with: `
      assert.include((yield* on("approve", [id, "1.0"])).stderr, still("2 calls still wait"))
      assert.include((yield* on("deny", [id, "1.2"])).stderr, still("1 call still waits"))
      assert.match((yield* on("approve", [id])).stderr, /^Go on with: [^\n]+\n$/)
    }))

  it.effect("for one of two leaves the other waiting, even if resume has no terminal to ask at", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a", "b"])
      yield* place.on("approve", [place.id, "1.1"])
      const { code, made, stderr } = yield* resume(place)
      assert.strictEqual(code, 1)
      assert.deepStrictEqual([existsSync(made("a")), existsSync(made("b"))], [false, true])
      assert.include(stderr, "✗ waits for an approval")
      assert.include(
        stderr,
        `\nDecide with: fiberloop approve waiting-one --db ${place.db}, or deny; then go on with: `
      )
      assert.include((yield* place.on("approvals")).stdout, "1.0  write_file")
    }))

  it.effect("leaves what a resumed run asks next open, too, if there is no terminal to ask at", () =>
    Effect.gen(function*() {
      const { id, on, root } = yield* waiting()
      yield* on("approve", [id])
      const model = yield* OpenAiServer.make(Replies.calls(["write_file", write("b")]))
      const { code } = yield* on("resume", ["--root", root, "--model", "m", id], { env: Replies.env(model) })
      assert.deepStrictEqual([code, existsSync(join(root, "b.txt"))], [1, false])
      assert.include((yield* on("approvals")).stdout, "write_file path=\"b.txt\"")
    }))

  it.effect("--params runs the call with other arguments", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const { stdout: said } = yield* place.on("approve", [place.id, "--params", JSON.stringify(write("z"))])
      assert.match(said, /^✓ approved: write_file path="z\.txt"/)
      const { made } = yield* resume(place)
      assert.deepStrictEqual([existsSync(made("a")), existsSync(made("z"))], [false, true])
      const { stdout } = yield* place.on("show", [place.id])
      assert.include(stdout, "approved with edited arguments by command")
    }))

  it.effect("--params that the tool does not accept, or that are not JSON, are refused", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const wrong = yield* place.on("approve", [place.id, "--params", "{\"path\":1}"])
      assert.strictEqual(wrong.code, 1)
      assert.match(wrong.stderr, /^fiberloop: --params do not fit the tool "write_file": /)
      const broken = yield* place.on("approve", [place.id, "--params", "{"])
      assert.strictEqual(broken.code, 2)
      assert.match(broken.stderr, /^fiberloop: --params is not JSON: /)
      assert.deepStrictEqual(yield* place.answers, [])
    }))

  it.effect("--params with one that the tool does not know are refused, with those that there are", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const params = JSON.stringify({ ...write("z"), mode: "0600" })
      const { code, stderr } = yield* place.on("approve", [place.id, "--params", params])
      assert.deepStrictEqual([code, yield* place.answers], [1, []])
      assert.match(
        stderr,
        /^fiberloop: --params do not fit the tool "write_file": [^\n]*there are path, content[^\n]*mode/
      )
    }))

  it.effect("--result settles the call without running anything", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const { stdout: said } = yield* place.on("approve", [place.id, "--result", JSON.stringify(written)])
      assert.match(said, /^✓ answered: write_file path="a\.txt"/)
      const { made } = yield* resume(place)
      assert.isFalse(existsSync(made("a")))
      assert.deepInclude((yield* place.answers)[0], { approved: true, result: written })
      assert.include((yield* place.on("show", [place.id])).stdout, "✓ write_file answered by command")
      assert.include((yield* place.on("show", [place.id, "--timeline"])).stdout, "answered")
      assert.include((yield* place.on("stats")).stdout, "of 1 asked, 0 approved, 1 answered, 0 denied")
    }))

  it.effect("--result that does not fit the tool, is not JSON, or comes with --params is refused", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const refused = Effect.fnUntraced(function*(...args: ReadonlyArray<string>) {
        const { code, stderr } = yield* place.on("approve", [place.id, ...args])
        return `${code} ${stderr}`
      })
      assert.match(
        yield* refused("--result", "7"),
        /^1 fiberloop: --result does not fit the tool "write_file": /
      )
      assert.match(yield* refused("--result", "done"), /^2 fiberloop: --result is not JSON: put a string in quotes/)
      const both = yield* refused("--result", JSON.stringify(written), "--params", JSON.stringify(write("b")))
      assert.match(
        both,
        /^2 fiberloop: --result cannot be combined with --params: with a result, nothing runs; leave one of them out/
      )
      assert.deepStrictEqual(yield* place.answers, [])
    }))

  it.effect("without naming one of several questions lists them and decides nothing", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a", "b"])
      const { code, stderr, stdout } = yield* place.on("approve", [place.id])
      assert.deepStrictEqual([code, stdout], [2, ""])
      assert.match(stderr, /^ {2}1\.0 {2}write_file [^]*\n {2}1\.1 {2}write_file /)
      assert.include(
        stderr,
        `fiberloop: 2 calls wait for an approval, name one of them: fiberloop approve waiting-one 1.0 --db ${place.db}\n`
      )
      assert.deepStrictEqual(yield* place.answers, [])
    }))

  it.effect("--json prints what was decided", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const { stdout } = yield* place.on("approve", [place.id, "--json"])
      assert.deepStrictEqual(JSON.parse(stdout), {
        sessionId: "waiting-one",
        approvalId: "run-1/1.0",
        tool: "write_file",
        approved: true,
        by: "command"
      })
    }))

  it.effect("is refused a second time, and the first answer stands", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      yield* place.on("deny", [place.id])
      for (const question of ["1.0", "run-1/1.0"]) {
        const { code, stderr } = yield* place.on("approve", [place.id, question])
        assert.strictEqual(code, 1)
        assert.include(stderr, "fiberloop: question \"run-1/1.0\" of session \"waiting-one\" has already been answered")
        assert.include(stderr, "if its run still waits, resume that run")
      }
      const { code, stderr } = yield* place.on("approve", [place.id])
      assert.strictEqual(code, 1)
      assert.match(
        stderr,
        /^fiberloop: session "waiting-one" has no call that waits for an approval: fiberloop approvals --db \S+ lists those that do\n$/
      )
      assert.strictEqual((yield* place.answers).length, 1)
    }))

  it.effect("is refused while another process drives the session", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const approving = Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* store.open(place.id, { runId: "run-1", create: false })
        const approving = yield* Effect.forkChild(place.on("approve", [place.id]))
        yield* Effect.repeat(TestClock.adjust("100 millis"), { until: () => approving.pollUnsafe() !== undefined })
        return yield* Fiber.join(approving)
      })
      const { code, stderr } = yield* Effect.provide(Effect.scoped(approving), place.store)
      assert.strictEqual(code, 1)
      assert.match(
        stderr,
        /^fiberloop: session "waiting-one" is in use by another process, which has not recorded the answer: try again/
      )
    }))
})

describe("a question that is open when its run goes on at a terminal", () => {
  it.effect.each(
    [
      ["resume", "its process died", true],
      ["recover", "its process died", true],
      ["run", "its process died", true],
      ["resume", "the run was suspended", undefined]
    ] as const
  )(
    "is asked there, with text or JSON on standard output: %s, after %s",
    ([command, , isLeft]) =>
      Effect.gen(function*() {
        for (const more of [[], ["--json"]]) {
          const place = yield* waiting(["a"], isLeft ? { isLeft } : {})
          const session = command === "recover" ? [] : command === "run" ? ["--session", place.id] : [place.id]
          const model = yield* OpenAiServer.make(Replies.says("Done."))
          const { code, tape } = yield* place.on(
            command,
            ["--root", place.root, "--model", "m", ...session, ...more],
            { isTerminal: true, input: ["y"], env: Replies.env(model) }
          )
          assert.deepStrictEqual([code, existsSync(join(place.root, "a.txt"))], [0, true])
          assert.include(tape, "Allow?")
        }
      })
  )

  it.effect("is asked after the calls that somebody has allowed meanwhile were named", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a", "b"])
      yield* place.on("approve", [place.id, "1.1"])
      const model = yield* OpenAiServer.make(Replies.says("Done."))
      const { tape } = yield* place.on("resume", ["--root", place.root, "--model", "m", place.id], {
        isTerminal: true,
        input: ["n"],
        env: Replies.env(model)
      })
      assert.match(tape, /1\.1 {2}write_file [^\n]* will run, approved by command\n[^]*write_file a\.txt[^]*Allow\?/)
    }))
})

describe("without a terminal to ask at", () => {
  it.effect.each(["resume", "recover"])("what a dead process had asked stays open, even if one of two is decided: %s", (
    command
  ) =>
    Effect.gen(function*() {
      const { answers, id, on, root } = yield* waiting(["a", "b"], { isLeft: true })
      yield* on("approve", [id, "1.1"])
      const model = yield* OpenAiServer.make(Replies.says("Done."))
      const args = ["--root", root, "--model", "m", ...command === "resume" ? [id] : []]
      const { code } = yield* on(command, args, { env: Replies.env(model) })
      assert.deepStrictEqual([code, existsSync(join(root, "a.txt")), existsSync(join(root, "b.txt"))], [1, false, true])
      assert.deepStrictEqual((yield* answers).map(({ by }) => by), ["command"])
      assert.include((yield* on("approvals")).stdout, "1.0  write_file")
    }))

  const yes = { ...Drafts.approvalResolved("1.0", true), approvalId: "run-1/1.0" }
  const [settled, paused] = [
    { ...Drafts.settled("1.0", { _tag: "Succeeded", result: written }), tool: "write_file" },
    { ...Drafts.toolPaused("1.0"), tool: "write_file" }
  ]
  const begun = [yes, Drafts.resumed(2), { ...Drafts.toolStarted("1.0", write("a")), tool: "write_file" }]

  it.effect.each(
    [
      ["a dead process went on after it was answered", [...begun, settled]],
      ["its call waits for another run", [...begun, paused, Drafts.suspended]]
    ] as const
  )("what a run asks next stays open where it has asked before, though %s", ([, later]) =>
    Effect.gen(function*() {
      const { id, on, root } = yield* waiting(["a"], { later })
      const model = yield* OpenAiServer.make(Replies.calls(["write_file", write("b")]))
      const { code } = yield* on("resume", ["--root", root, "--model", "m", id], { env: Replies.env(model) })
      assert.strictEqual(code, 1)
      assert.include((yield* on("approvals")).stdout, "write_file path=\"b.txt\"")
    }))

  it.effect("what a run asks next is denied where it has asked nobody before", () =>
    Effect.gen(function*() {
      const no = { ...yes, approved: false, by: AnsweredBy.nobody }
      const { id, on, root } = yield* waiting(["a"], { isLeft: true, later: [no] })
      const model = yield* OpenAiServer.make(Replies.calls(["write_file", write("b")]), Replies.says("Then not."))
      const { code, stdout } = yield* on("resume", ["--root", root, "--model", "m", id], { env: Replies.env(model) })
      assert.deepStrictEqual([code, stdout], [0, "Then not.\n"])
    }))

  it.effect("a message to a session that waits is answered, and what it asks for is denied", () =>
    Effect.gen(function*() {
      const { id, on, root } = yield* waiting()
      const model = yield* OpenAiServer.make(Replies.calls(["write_file", write("b")]), Replies.says("Then not."))
      const { code, stdout } = yield* on("chat", ["--root", root, "--model", "m", "--session", id], {
        input: ["write b"],
        env: Replies.env(model)
      })
      assert.deepStrictEqual([code, stdout], [0, "Then not.\n"])
      assert.include(Replies.results(model).at(-1), "standard input or standard error is not a terminal")
    }))
})

describe("fiberloop deny", () => {
  it.effect("without naming one of several questions says how to name one", () =>
    Effect.gen(function*() {
      const place = yield* waiting(["a", "b"])
      const { stderr } = yield* place.on("deny", [place.id])
      assert.include(stderr, `name one of them: fiberloop deny waiting-one 1.0 --db ${place.db}\n`)
    }))

  it.effect("tells the model why once the session continues", () =>
    Effect.gen(function*() {
      const place = yield* waiting()
      const { code, stdout } = yield* place.on("deny", [place.id, "--reason", "not there", "--by", "ann"])
      assert.deepStrictEqual([code, stdout], [0, "✗ denied: write_file path=\"a.txt\" content=\"a\\n\"\n"])
      assert.deepInclude((yield* place.answers)[0], { approved: false, by: "ann" })
      const { made, model } = yield* resume(place)
      assert.isFalse(existsSync(made("a")))
      assert.include(Replies.results(model)[0], "Denied: not there")
    }))

  it.effect.each(["-20 % is too much", "-5+3", "--force is not for this", "- why=not", "-a=b is wrong"])(
    "takes a reason that begins with a minus: %s",
    (reason) =>
      Effect.gen(function*() {
        const { answers, id, on } = yield* waiting()
        const { code, stderr } = yield* on("deny", [id, "1.0", "--reason", reason, "--no-color"])
        assert.strictEqual(code, 0, stderr)
        assert.deepInclude((yield* answers)[0], { approved: false, reason })
      })
  )
})

describe("the commands", () => {
  it.effect.each<readonly [string, string, string]>([
    ["approvals", "Lists the tool calls that wait for a yes or a no", "fiberloop approvals --json | jq -r .id"],
    ["approve", "Allows a tool call that waits.", "fiberloop approve <session> 1.0 --params '{\"amount\":5}'"],
    ["deny", "Denies a tool call that waits;", "fiberloop deny <session> --reason \"too expensive\""]
  ])("%s --help says what it does, with an example", ([command, does, example]) =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      const { code, stdout } = yield* on(command, ["--help"])
      assert.strictEqual(code, 0)
      assert.include(stdout, does)
      assert.include(stdout.slice(stdout.indexOf("EXAMPLES")), example)
    }))

  it.effect.each(["approve", "deny"])("that decide need a session: %s", (command) =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      const { code, stderr } = yield* on(command)
      assert.strictEqual(code, 2)
      assert.include(stderr, `the session is missing: fiberloop ${command} <session>`)
    }))
})
