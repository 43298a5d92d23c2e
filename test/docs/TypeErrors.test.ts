/** The type errors of docs/errors.md are what the compiler says of these programs. */
import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

/** In the order of the table, each with one mistake. */
const programs = [
  "export const live = kit(Tool.make(\"x\", { success })).toLayer({ x: () => Effect.map(ToolCall, ({ callId }) => callId) })",
  "export const live = kit(Tool.make(\"x\", { success, dependencies: [ToolCall] }))" +
  ".toLayer({ x: () => ToolCall.runAgent(agent, { input: \"Hi\" }) })",
  "run(all.pipe(Effect.provide([handlers, store, model])))",
  "run(all.pipe(Effect.provide([handlers, Fiberloop.layer, model])))",
  "run(all.pipe(Effect.provide([handlers, Fiberloop.layer, store])))",
  "run(all.pipe(Effect.provide([Fiberloop.layer, store, model])))",
  "export const ended = Effect.gen(function*() { return yield* agent.resume({ sessionId: \"s\" }) })",
  "const found = kit(...[\"x\"].map((name) => Tool.dynamic(name, { parameters: { type: \"object\" } })))\n" +
  "const made = found.toHandlers({ x: () => Effect.succeed(1) })\n" +
  "export const late = Agent.make({ instructions: \"Help.\", timeouts: { tools: { x: \"1 minute\" } }, " +
  "toolkit: Effect.flatMap(made, (context) => Effect.provideContext(found, context)) })",
  "class Assistant extends Agent.Service<Assistant>()(\"app/Assistant\", { instructions: \"Help.\" }) {}\n" +
  "run(Effect.flatMap(Assistant, (made) => made.run({ input: \"Hi\" })).pipe(Effect.provide([Fiberloop.layer, store, model])))",
  "export const live = toolkit.toLayer({ x: async () => \"x\" })",
  "export const read = async () => { for await (const event of agent.stream({ input: \"Hi\" })) console.log(event) }",
  "export const asked = async () => (await agent.run({ input: \"Hi\" })).text",
  "interface User { readonly id: string }\n" +
  "export const asked = (data: User) => agent.run({ input: \"Hi\", data })",
  "const more = kit(Tool.make(\"x\", { success }), Tool.make(\"y\", { success }))\n" +
  "export const made = (flag: boolean) => Agent.make({ instructions: \"Help.\", toolkit: flag ? toolkit : more })"
]

const common = `import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, SessionStoreMemory, ToolCall } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
const success = Schema.String
const kit = Toolkit.make
const toolkit = kit(Tool.make("x", { success }))
const handlers = toolkit.toLayer({ x: () => Effect.succeed("x") })
const store = SessionStoreMemory.layer
const model = ScriptedModel.layer([])
declare const agent: Agent.Client<string>
declare const run: <A, E>(program: Effect.Effect<A, E>) => void
const all = Effect.flatMap(Agent.make({ instructions: "Help.", toolkit }), (made) => made.run({ input: "Hi" }))
export const used = [ToolCall, Fiberloop, agent, run, all, handlers, store, model]
`

/** The last line of what is said of each program, without the types of whole tools. */
const said = async (): Promise<ReadonlyArray<string>> => {
  mkdirSync(join(root, ".tmp"), { recursive: true })
  const folder = mkdtempSync(join(root, ".tmp/types-"))
  try {
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include: ["."] }))
    for (const [at, program] of programs.entries()) {
      writeFileSync(join(folder, `p${String(at).padStart(2, "0")}.ts`), common + program)
    }
    const stdout = await new Promise<string>((resolve) =>
      execFile(
        process.execPath,
        [join(root, "node_modules/typescript/bin/tsc"), "-p", "."],
        { cwd: folder },
        (_, stdout) => resolve(stdout)
      )
    )
    return stdout.trimEnd().split(/\n(?=p\d)/).map((error) =>
      error.split("\n").at(-1)!.replace(/^p\d.* TS\d+: /, "").trim().replace(/\.$/, "").replace(
        /Tool<"[^']*'/g,
        "Tool<...'"
      )
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

it("the type errors of docs/errors.md end with what the compiler says", async () => {
  const [, part = ""] = readFileSync(join(root, "docs/errors.md"), "utf8").split("\n## Of the compiler\n")
  const rows = [...part.matchAll(/^\| `((?:[^`\\]|\\.)+)`[^`|]* \|/gm)].map(([, line]) => line!.replaceAll("\\|", "|"))
  assert.deepStrictEqual(await said(), rows)
}, 120_000)
