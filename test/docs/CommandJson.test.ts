/** docs/command.md has a row for every command that prints JSON, with the fields that it prints. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as AgentName from "../../src/cli/session/AgentName.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { invoke, withSession } from "../cli/Invoke.ts"
import * as Drafts from "../support/Drafts.ts"

const page = readFileSync(join(import.meta.dirname, "../../docs/command.md"), "utf8")

/** By command: the names of its fields, with a question mark for those that may be absent. */
const documented = new Map(
  [...page.matchAll(/^\| (`.+) \| .+ \| (.+) \|$/gm)].flatMap(([, commands, fields]) =>
    [...commands!.matchAll(/`([\w -]+)`/g)].map(([, command]) =>
      [command!, [...fields!.matchAll(/`(\w+\??)`/g)].map(([, field]) => field!)] as const
    )
  )
)

/** The first line, or everything if that spans several lines. */
const fieldsOf = (stdout: string): ReadonlyArray<string> =>
  Object.keys(JSON.parse(stdout.startsWith("{\n") ? stdout : stdout.split("\n")[0]!) as object)

const agrees = (command: string, stdout: string): void => {
  const [printed, fields] = [fieldsOf(stdout), documented.get(command) ?? []]
  const may = new Set(fields.map((field) => field.replace("?", "")))
  assert.deepStrictEqual(printed.filter((field) => !may.has(field)), [], command)
  assert.deepStrictEqual(fields.filter((field) => !field.endsWith("?") && !printed.includes(field)), [], command)
}

const asked = { path: "a.txt", content: "a" }

/** A session with this id whose one call waits for an answer. */
const suspend = (id: string) => {
  const log = Drafts.log(
    { ...Drafts.started("write"), agent: AgentName.own },
    Drafts.turnStarted(1),
    Drafts.assistant([Drafts.call("write_file", asked)]),
    { ...Drafts.approvalRequested("1.0"), tool: "write_file", approvalId: "run-1/1.0", params: asked },
    Drafts.suspended
  )
  return SessionStore.SessionStore.use((store) =>
    Effect.scoped(Effect.flatMap(
      store.open(id, { runId: "run-1", create: true }),
      (session) => session.append(log as never)
    ))
  )
}

it.effect("the fields documented for each command are those printed", () =>
  Effect.gen(function*() {
    const { id, on, store } = yield* withSession()
    for (const name of ["first", "second", "third"]) yield* Effect.provide(suspend(name), store)
    const printed = Effect.fnUntraced(function*(command: string, ...args: ReadonlyArray<string>) {
      const { code, stdout } = yield* on(command.split(" ")[0]!, [...args, "--json"])
      assert.deepStrictEqual([command, code], [command, 0])
      agrees(command, stdout)
    })
    yield* printed("sessions")
    yield* printed("fork", id)
    yield* printed("show --context", id, "--context")
    yield* printed("approvals")
    yield* printed("approve", "first", "--params", JSON.stringify(asked))
    yield* printed("approve", "third", "--result", JSON.stringify({ path: "a.txt", bytes: 2, lines: 1, created: true }))
    yield* printed("deny", "second", "--reason", "no")
    yield* printed("abort", "first")
    yield* printed("compact", id)
  }))

it.effect("every command with --json in its help has a row", () =>
  Effect.gen(function*() {
    const { stdout } = yield* invoke(["--help"])
    const commands = [...stdout.split("SUBCOMMANDS")[1]!.split("EXAMPLES")[0]!.matchAll(/^ {2}(\w+)/gm)]
    for (const [, command] of commands) {
      const help = yield* invoke([command!, "--help"])
      const [says, has] = [/^ {2}--json/m.test(help.stdout), documented.has(command!)]
      assert.deepStrictEqual([command, says], [command, has])
    }
  }))
