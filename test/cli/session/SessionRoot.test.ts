/** The folder of a session: what was allowed there is done there, from wherever the command goes on. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, realpathSync, renameSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import * as AgentName from "../../../src/cli/session/AgentName.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as OpenAiServer from "../../support/OpenAiServer.ts"
import { workplace } from "../Invoke.ts"
import * as Replies from "../Replies.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

type Place = Effect.Success<ReturnType<typeof workplace>>

const write = { path: "allowed.txt", content: "a\n" }

const yes = { ...Drafts.approvalResolved("1.0"), approvalId: "run-1/1.0" }

/** A session whose process died after a person, who was shown this folder, allowed a file in it. */
const die = ({ store }: Place, id: string, root: string, answers: ReadonlyArray<Drafts.Placed> = [yes]) =>
  SessionStore.SessionStore.use((store) =>
    Effect.scoped(
      Effect.flatMap(store.open(id, { runId: "run-1", create: true }), (session) =>
        session.append(Drafts.log(
          { ...Drafts.started("write it", { data: { root } }), agent: AgentName.own },
          { ...Drafts.turnStarted(1), model: { provider: "openai-compatible", name: "m" } },
          Drafts.assistant([Drafts.call("write_file", write)]),
          { ...Drafts.approvalRequested("1.0"), tool: "write_file", approvalId: "run-1/1.0", params: write },
          ...answers
        ) as never))
    )
  ).pipe(Effect.provide(store))

/** A place whose session "allowed-1" works in `theirs`, which is neither `root` nor the current folder; its model says this. */
const allowed = Effect.fnUntraced(function*(...replies: ReadonlyArray<OpenAiServer.Reply>) {
  const place = yield* workplace()
  const theirs = realpathSync(yield* sandbox())
  yield* die(place, "allowed-1", theirs)
  const model = yield* OpenAiServer.make(...replies)
  return {
    ...place,
    theirs,
    env: Replies.env(model),
    model,
    /** where the allowed file was made */
    made: () => [theirs, place.root, process.cwd()].filter((folder) => existsSync(join(folder, write.path)))
  }
})

const done = Replies.says("Done.")

describe("without --root, an allowed call is made in the folder of its session, which is named", () => {
  for (
    const [command, args] of [
      ["resume", ["allowed-1"]],
      ["run", ["--session", "allowed-1"]],
      ["recover", []]
    ] as const
  ) {
    it.effect(`by ${command}`, () =>
      Effect.gen(function*() {
        const { env, made, on, theirs } = yield* allowed(done)
        const { code, stderr, stdout } = yield* on(command, args, { env })
        assert.deepStrictEqual([code, stdout, made()], [0, "Done.\n", [theirs]])
        assert.include(
          stderr,
          `fiberloop: no folder is named, so this goes on in ${JSON.stringify(theirs)}, as this session did before\n`
        )
      }))
  }

  it.effect("by recover, for each session in its own", () =>
    Effect.gen(function*() {
      const { env, made, on, root, theirs, ...place } = yield* allowed(done, done)
      yield* die({ ...place, on, root }, "allowed-2", realpathSync(root))
      assert.strictEqual((yield* on("recover", [], { env })).code, 0)
      assert.deepStrictEqual(made(), [theirs, root])
    }))
})

describe("with --root, a call that was allowed for another folder", () => {
  for (const [command, args] of [["resume", ["allowed-1"]], ["run", ["--session", "allowed-1"]]] as const) {
    it.effect(`is refused by ${command}, which names both folders and the way out`, () =>
      Effect.gen(function*() {
        const { db, env, made, model, on, root, theirs } = yield* allowed()
        const { code, stderr, stdout } = yield* on(command, ["--root", root, ...args], { env })
        assert.deepStrictEqual([code, stdout, made(), model.requests.length], [1, "", [], 0])
        assert.strictEqual(
          stderr,
          `fiberloop: the last run of session "allowed-1" works in the folder ${
            JSON.stringify(theirs)
          }, and its calls are ` +
            `not made in ${JSON.stringify(root)}: leave --root out to go on there, or give it a new task here, as in ` +
            `fiberloop run --session allowed-1 --root ${root} --db ${db} --model m "<task>"\n`
        )
      }))
  }

  it.effect("is refused by recover, which goes on with those of that folder", () =>
    Effect.gen(function*() {
      const { env, made, on, root, ...place } = yield* allowed(done)
      yield* die({ ...place, on, root }, "allowed-2", realpathSync(root))
      const { code, stderr, stdout } = yield* on("recover", ["--root", root], { env })
      assert.deepStrictEqual([code, stdout, made()], [1, "Done.\n", [root]])
      assert.match(stderr, /^fiberloop: the last run of session "allowed-1" works in the folder [^\n]+\n── allowed-2 /)
    }))

  for (
    const [command, args, input] of [["run", ["hello"], []], ["chat", [], ["hello"]]] as const
  ) {
    it.effect(`is not made by ${command} with a new message, from which on the session works in the named folder`, () =>
      Effect.gen(function*() {
        const { env, made, on, root } = yield* allowed(
          done,
          Replies.calls(["list_files", { path: "." }]),
          done
        )
        const { code, stdout } = yield* on(command, ["--session", "allowed-1", "--root", root, ...args], { env, input })
        assert.deepStrictEqual([code, stdout, made()], [0, "Done.\n", []])
        const { stderr } = yield* on("run", ["--session", "allowed-1", "look"], { env })
        assert.include(stderr, `so this goes on in ${JSON.stringify(root)}, as this session did before\n`)
      }))
  }

  it.effect("is made if it is the same folder by another name", () =>
    Effect.gen(function*() {
      const { env, made, on, root, theirs } = yield* allowed(done)
      symlinkSync(theirs, join(root, "link"))
      assert.strictEqual((yield* on("resume", ["--root", join(root, "link"), "allowed-1"], { env })).code, 0)
      assert.deepStrictEqual(made(), [theirs])
    }))
})

describe("a folder of a session that is gone", () => {
  it.effect("is named, and nothing goes on in the current one", () =>
    Effect.gen(function*() {
      const { env, made, model, on, theirs } = yield* allowed()
      renameSync(theirs, `${theirs}-away`)
      for (const [command, args] of [["resume", ["allowed-1"]], ["recover", []]] as const) {
        const { code, stderr } = yield* on(command, args, { env })
        assert.deepStrictEqual([code, made(), model.requests.length], [1, [], 0])
        assert.include(
          stderr,
          "fiberloop: session \"allowed-1\" goes on in the folder that it worked in, or with a new task in another. The root " +
            `folder ${JSON.stringify(theirs)} does not exist: create it or name another.\n`
        )
      }
      renameSync(`${theirs}-away`, theirs)
    }))

  it.effect("is not where a new task goes on, which says so", () =>
    Effect.gen(function*() {
      const { env, made, on, theirs } = yield* allowed(done)
      renameSync(theirs, `${theirs}-away`)
      const { code, stderr } = yield* on("run", ["--session", "allowed-1", "go on"], { env })
      renameSync(`${theirs}-away`, theirs)
      assert.deepStrictEqual([code, made()], [0, []])
      const gone = JSON.stringify(theirs)
      assert.include(stderr, `the folder ${gone} of this session is not there, so this goes on in the current one\n`)
    }))

  it.effect("is not what a fork tells to give a task in", () =>
    Effect.gen(function*() {
      const { env, on, theirs } = yield* allowed(done)
      assert.strictEqual((yield* on("run", ["--session", "allowed-1", "go on"], { env })).code, 0)
      renameSync(theirs, `${theirs}-away`)
      const { stderr } = yield* on("fork", ["allowed-1"])
      renameSync(`${theirs}-away`, theirs)
      assert.include(stderr, "--root . --model m \"<task>\"\n")
    }))

  it.effect("is not what an import tells to go on in", () =>
    Effect.gen(function*() {
      const { on, root, theirs } = yield* allowed()
      const file = join(root, "session.jsonl")
      yield* on("export", ["allowed-1", "--to", file])
      renameSync(theirs, `${theirs}-away`)
      const there = yield* workplace()
      const { stderr } = yield* there.on("import", [file])
      renameSync(`${theirs}-away`, theirs)
      assert.include(
        stderr,
        `\nGo on with: fiberloop run --session allowed-1 --db ${there.db} --root . --model m "<task>"\n`
      )
    }))
})

describe("the folder of a session that is not the current one", () => {
  it.effect("is kept by a run, with its links resolved", () =>
    Effect.gen(function*() {
      const { root, run } = yield* workplace()
      const [begin = ""] = (yield* run(["2+2", "--json"])).stdout.split("\n")
      assert.deepStrictEqual(JSON.parse(begin).input.data, { root: realpathSync(root) })
    }))

  it.effect("is in the commands that others give to go on with", () =>
    Effect.gen(function*() {
      const { db, env, on, theirs, ...place } = yield* allowed(done)
      const flags = `--db ${db} --root ${theirs} --model m`
      const told = (command: string, ...args: ReadonlyArray<string>) =>
        Effect.map(on(command, args), ({ stderr, stdout }) => stdout + stderr)
      assert.include(yield* told("show", "allowed-1"), `go on with: fiberloop resume allowed-1 ${flags}\n`)
      yield* on("resume", ["allowed-1"], { env })
      assert.include(
        yield* told("fork", "allowed-1", "--to", "copy"),
        `Go on with: fiberloop run --session copy ${flags} "<task>"\n`
      )
      yield* die({ ...place, db, on }, "asking-1", theirs, [])
      assert.include(yield* told("approve", "asking-1"), `go on with: fiberloop resume asking-1 ${flags}\n`)
      assert.include(yield* told("abort", "asking-1"), `Go on with it anyway: fiberloop resume asking-1 ${flags}\n`)
    }))
})
