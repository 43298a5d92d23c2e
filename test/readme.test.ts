/**
 * Shows that every `ts` block of README.md and docs/ compiles under the settings of this repository. Whether the first
 * program also runs, on an installed package, is for scripts/check-pack.mjs.
 */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as FileSystem from "node:fs"
import { dirname, join } from "node:path"
import { program, snippets } from "../scripts/Snippets.ts"
import type { Client } from "../src/Client.ts"
import * as RunError from "../src/run/RunError.ts"
import * as RunEvent from "../src/run/RunEvent.ts"
import * as RunStatus from "../src/run/RunStatus.ts"
import * as ToolOutcome from "../src/run/ToolOutcome.ts"
import type * as CrashSweep from "../src/testing/CrashSweep.ts"
import type * as FaultSweep from "../src/testing/FaultSweep.ts"
import * as StoreFaults from "../src/testing/StoreFaults.ts"

const root = join(import.meta.dirname, "..")

const page = (path: string) => {
  const file = join(root, path)
  assert.isTrue(FileSystem.existsSync(file), `${path} is missing: users read it, and it is tested here`)
  return FileSystem.readFileSync(file, "utf8")
}

const readme = () => page("README.md")

/** What tsc says about all snippets of all pages, written beside a tsconfig that extends ours; empty if all compile. */
const check = async (pages: Record<string, string>): Promise<string> => {
  FileSystem.mkdirSync(join(root, ".tmp"), { recursive: true })
  const folder = FileSystem.mkdtempSync(join(root, ".tmp/readme-"))
  const write = (file: string, source: string) => {
    FileSystem.mkdirSync(dirname(join(folder, file)), { recursive: true })
    FileSystem.writeFileSync(join(folder, file), source)
  }
  try {
    write("tsconfig.json", JSON.stringify({ extends: "../../tsconfig.json", include: ["."] }))
    for (const [page, markdown] of Object.entries(pages)) {
      for (const { file, source } of snippets(markdown)) write(join(page, file), source)
    }
    const tsc = join(root, "node_modules/typescript/bin/tsc")
    return await new Promise((resolve) =>
      execFile(
        process.execPath,
        [tsc, "-p", "."],
        { cwd: folder },
        (error, stdout, stderr) => resolve(error === null ? "" : stdout + stderr || error.message)
      )
    )
  } finally {
    FileSystem.rmSync(folder, { recursive: true, force: true })
  }
}

describe("the documentation", () => {
  it("compiles", async () => {
    const docs = FileSystem.globSync("docs/**/*.md", { cwd: root })
    const pages = Object.fromEntries(docs.map((path) => [path, page(path)]))
    assert.strictEqual(await check({ "README.md": readme(), ...pages }), "", "line-12.ts(3,1) is line 15 of its page")
  }, 120_000)

  it("opens with a program of at most 40 lines", () => {
    const first = program(readme())
    assert.isDefined(first, "README.md has no ts block that runs something")
    assert.isAtMost(first.source.trimEnd().split("\n").length, 40)
  })
})

/** Checks the named blocks of a page against the examples of that name. */
const showsExamples = (markdown: string): ReadonlyArray<string> => {
  const named = snippets(markdown).filter(({ file }) => !file.startsWith("line-"))
  for (const { file, source } of named) assert.strictEqual(source, page(`examples/${file}`))
  return named.map(({ file }) => file)
}

/** The calls of an agent, and whether they can fail. */
const clientCalls: Record<keyof Client<string>, boolean> = {
  stream: true,
  run: true,
  start: true,
  resume: true,
  resumeRun: true,
  resumeStart: true,
  recover: true,
  approvals: true,
  decide: true,
  steer: true,
  followUp: true,
  queue: true,
  abort: true,
  compact: true,
  live: false,
  liveIn: false,
  follow: true
}

describe("README.md", () => {
  it("shows the examples as they are", () => {
    assert.deepStrictEqual(showsExamples(readme()), ["hello.ts", "hello.test.ts"])
  })

  it("says where the machine is documented", () => {
    assert.include(readme(), "(docs/machine.md)")
  })

  it("names existing tests for every guarantee", () => {
    const [, part = ""] = readme().split("\n## What you can rely on\n")
    const rows = [...part.split("\n## ")[0]!.matchAll(/^\| (\w[^|]*) \| .* \| ([^|]*) \|$/gm)]
      .filter(([, guarantee]) => guarantee !== "guarantee")
    assert.isAtLeast(rows.length, 12)
    const patterns = rows.flatMap(([, , cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, pattern]) => pattern!))
    assert.isAtLeast(patterns.length, rows.length)
    // a folder would not say which test is to fail
    const isFile = (path: string) => FileSystem.statSync(join(root, path)).isFile()
    const found = (pattern: string) => FileSystem.globSync([pattern, `${pattern}.ts`], { cwd: root }).filter(isFile)
    assert.deepStrictEqual(patterns.filter((pattern) => found(pattern).length === 0), [])
  })

  it("has every call of an agent in its table", () => {
    const [, part = ""] = readme().split("\n## Running an agent\n")
    const named = part.split("\n").flatMap((line) => line.startsWith("| `agent.") ? [line] : [])
    const calls = [...named.join().matchAll(/`agent\.(\w+)\(/g)].map(([, call]) => call!)
    assert.sameMembers(calls, Object.keys(clientCalls))
  })

  it("names every event", () => {
    const tags = RunEvent.RunEvent.members.map((member) => member.fields._tag.schema.literal)
    assert.deepStrictEqual(tags.filter((tag) => !readme().includes(`\`${tag}\``)), [])
  })
})

describe("docs/testing.md", () => {
  it("shows the examples as they are", () => {
    assert.deepStrictEqual(showsExamples(page("docs/testing.md")), [
      "abort.test.ts",
      "time.test.ts",
      "evaluate.ts",
      "subjects.ts",
      "faults.test.ts"
    ])
  })

  /** The names in the first column of the table whose head begins with `first`. */
  const namesUnder = (first: string) => {
    const [, table = ""] = page("docs/testing.md").split(`\n| ${first} |`)
    return [...table.split("\n\n")[0]!.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!)
  }

  it("has every option of the sweeps, and all that an outage may say", () => {
    const crashes: Record<keyof CrashSweep.Sweep, true> = {
      module: true,
      only: true,
      goOn: true,
      every: true,
      concurrency: true,
      argument: true
    }
    const faults: Record<keyof FaultSweep.Sweep, true> = { subjects: true, faults: true, outages: true, every: true }
    const outage: Record<keyof FaultSweep.Outage, true> = {
      name: true,
      begin: true,
      passes: true,
      reason: true,
      refuses: true,
      needsRestart: true
    }
    assert.sameMembers(namesUnder("option of `CrashSweep.sweep`"), Object.keys(crashes))
    assert.sameMembers(namesUnder("option of `FaultSweep.sweep`"), Object.keys(faults))
    assert.sameMembers(namesUnder("of an outage"), Object.keys(outage))
  })

  it("names every fault of a store", () => {
    assert.deepStrictEqual(StoreFaults.faults.filter((fault) => !page("docs/testing.md").includes(`\`${fault}\`:`)), [])
  })
})

describe("docs/machine.md", () => {
  it("shows the status table as it is", () => {
    const rows = RunStatus.table.map(({ from, to, when }) =>
      `| ${from.map((status) => `\`${status}\``).join(", ")} | ${when} | \`${to}\` |`
    )
    assert.include(page("docs/machine.md"), `| from | when | to |\n|---|---|---|\n${rows.join("\n")}\n`)
  })
})

interface Tagged {
  readonly fields: object & { readonly _tag: { readonly schema: { readonly literal: string } } }
}

/** The rows of the table under a heading: a name, and the fields in the cell beside it. */
const rowsOf = (path: string, heading: string) => {
  const [, part = ""] = page(path).split(`\n## ${heading}\n`)
  const rows = part.split("\n## ")[0]!.matchAll(/^\| `(\w+)` \| ([^|]*)\|/gm)
  return Object.fromEntries([...rows].map(([, name, cell = ""]) => [
    name,
    [...cell.matchAll(/`(\w+)\??`/g)].map(([, field]) => field!).toSorted()
  ]))
}

const fieldsOf = (members: ReadonlyArray<Tagged>, common: ReadonlyArray<string>) =>
  Object.fromEntries(members.map(({ fields }) => [
    fields._tag.schema.literal,
    Object.keys(fields).filter((field) => field !== "_tag" && !common.includes(field)).toSorted()
  ]))

describe("docs/events.md", () => {
  it("has every durable event with its fields", () => {
    assert.deepStrictEqual(
      rowsOf("docs/events.md", "Durable events"),
      fieldsOf(RunEvent.Durable.members, ["seq", "at", "runId", "version"])
    )
  })

  it("has every transient event with its fields", () => {
    assert.deepStrictEqual(
      rowsOf("docs/events.md", "Transient events"),
      fieldsOf(RunEvent.Transient.members, ["runId"])
    )
  })

  it("marks exactly the fields that may be absent", () => {
    const isOptional = (schema: unknown) =>
      (schema as { readonly ast: { readonly context?: { readonly isOptional: boolean } } }).ast.context?.isOptional ===
        true
    const members = [...RunEvent.RunEvent.members, ...ToolOutcome.ToolOutcome.members]
    const optional = members.flatMap(({ fields }) =>
      Object.entries(fields).flatMap(([name, schema]) =>
        isOptional(schema) ? [`${fields._tag.schema.literal} ${name}`] : []
      )
    )
    const marked = [...page("docs/events.md").matchAll(/^\| `(\w+)` \| ([^|]*)\|/gm)].flatMap(([, event, cell = ""]) =>
      [...cell.matchAll(/`(\w+)\?`/g)].map(([, field]) => `${event} ${field}`)
    )
    assert.deepStrictEqual(marked.toSorted(), optional.toSorted())
  })

  it("has every outcome of a call with its fields", () => {
    assert.deepStrictEqual(
      rowsOf("docs/events.md", "Outcomes of a call"),
      fieldsOf(ToolOutcome.ToolOutcome.members, [])
    )
  })

  const rowOf = (tag: string) =>
    page("docs/events.md").split("\n").find((line) => line.startsWith(`| \`${tag}\` |`)) ?? ""
  const isIn = (row: string) => (word: string) => row.includes(`\`${word}\``)

  it("names every kind of a notice and every decision in its row", () => {
    const { fields: notice } = RunEvent.Durable.members.find(({ fields }) =>
      fields._tag.schema.literal === "NoticeAdded"
    )!
    const { literals } = (notice as unknown as { readonly kind: { readonly literals: ReadonlyArray<string> } }).kind
    assert.deepStrictEqual(literals.filter((kind) => !isIn(rowOf("NoticeAdded"))(kind)), [])
    const [goesOn] = RunEvent.Decision.members
    const decisions = [
      ...RunEvent.Decision.members.map(({ fields }) => fields._tag.schema.literal),
      ...goesOn.fields.reason.literals
    ]
    // `other` is what nothing else names
    assert.deepStrictEqual(decisions.filter((word) => !isIn(rowOf("TurnFinished"))(word)), ["other"])
  })

  it("names every reason of an end and of a call that was not executed", () => {
    const reasons = [
      ...RunEvent.CompletedReason.literals,
      ...RunEvent.AbortedReason.literals,
      ...RunEvent.SuspendedReason.literals,
      ...ToolOutcome.NotExecuted.fields.reason.literals
    ]
    assert.deepStrictEqual(reasons.filter((reason) => !page("docs/events.md").includes(`\`${reason}\``)), [])
  })
})

describe("docs/errors.md", () => {
  it("begins with the calls of an agent that can fail", () => {
    const [, first = ""] = page("docs/errors.md").split("\n\n").filter((paragraph) => !paragraph.startsWith("#"))
    const [named = ""] = first.split(" fail with ")
    const failing = Object.entries(clientCalls).flatMap(([call, canFail]) => canFail ? [call] : [])
    assert.sameMembers([...named.matchAll(/`(\w+)`/g)].map(([, call]) => call!), failing)
  })

  it("has a row for every reason of a run's errors, under its tag, with its fields", () => {
    const of = (tag: string) => rowsOf("docs/errors.md", tag)
    assert.deepStrictEqual(of("RetryableError"), fieldsOf(RunError.RunReason.members, ["message"]))
    assert.deepStrictEqual(of("NonRetryableError"), fieldsOf(RunError.RunRefusal.members, ["message"]))
  })
})

describe("a ts block", () => {
  const markdown = [
    "```ts fragment",
    "}",
    "```",
    "```ts one.ts",
    "export const one = 1",
    "```",
    "```ts",
    `import { one } from "./one.ts"`,
    "export const two: string = one",
    "```",
    "```sh",
    "npm test",
    "```"
  ].join("\n")

  it("is a file named by its fence or its first line, unless it is a fragment", () => {
    assert.deepStrictEqual(snippets(markdown).map((_) => _.file), ["one.ts", "line-7.ts"])
    assert.throws(() => snippets("```ts fragmnet\n```"), /line 1: .* is neither a file name nor "fragment"/)
  })

  it("that does not compile is reported at its line", async () => {
    assert.match(await check({ "page.md": markdown }), /^page\.md\/line-7\.ts\(2,14\): error TS2322: .*\n$/)
  }, 120_000)
})
