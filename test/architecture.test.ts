/**
 * Shows that .oxlintrc.json enforces the dependency rule: every import it must refuse, beside those it must let pass, and
 * checks what oxlint cannot see. Whether the sources keep the rules that it does see is for `npm run lint`.
 */
import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as FileSystem from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll } from "vitest"

const root = join(import.meta.dirname, "..")

const path = "No barrel, no own name"
const adapters = "uses neither effect/ai nor the platform"
const ai = "effect/ai belongs to"
const types = "Types only here"
const builtin = "no-nodejs-modules"

/** The rooms of the loop: each imports only those before it. */
const rooms = ["log", "observe", "env", "round", "turn", "open", "drive", "start"]

type Case = readonly [statement: string, report: string | undefined]

/** By file: a statement with the words of the report it must cause, or with `undefined` if it is legal. */
const imports: Record<string, ReadonlyArray<Case>> = {
  "src/run/Case.ts": [
    [`import "effect/Effect"`, undefined],
    [`import "./Message.ts"`, undefined],
    [`import "effect"`, path],
    [`import type { Effect } from "effect"`, path],
    [`import "effect/http-api"`, path],
    [`import "effect/testing"`, path],
    [`import "fiberloop"`, path],
    [`import "fiberloop/Agent"`, path],
    [`import "effect/ai/Tool"`, adapters],
    [`import type { Any } from "effect/ai/Tool"`, adapters],
    [`import "@effect/platform-node/NodeRuntime"`, adapters],
    [`import "node:fs"`, builtin],
    [`import "../services/Model.ts"`, "src/run imports nothing else of ours"],
    [`import type { Model } from "../services/Model.ts"`, "src/run imports nothing else of ours"],
    [`export * from "../services/Model.ts"`, "src/run imports nothing else of ours"],
    [`export const a = import("../services/Model.ts")`, "src/run imports nothing else of ours"],
    [`export type A = import("../services/Model.ts").Model`, "consistent-type-imports"],
    [`import "../Agent.ts"`, "src/run imports nothing else of ours"]
  ],
  "src/run/folder/Case.ts": [
    [`import "../Message.ts"`, undefined],
    [`import "effect"`, path],
    [`import "effect/ai/Tool"`, adapters],
    [`import "node:fs"`, builtin],
    [`import "../../services/Model.ts"`, "src/run imports nothing else of ours"],
    [`import "../../Agent.ts"`, "src/run imports nothing else of ours"]
  ],
  "src/services/Case.ts": [
    [`import "./Model.ts"`, undefined],
    [`import "../run/Message.ts"`, undefined],
    [`import "effect/ai"`, path],
    [`import type { Any } from "effect/ai/Tool"`, adapters],
    [`import "node:fs"`, builtin],
    [`import "../loop/drive/Drive.ts"`, "src/services imports src/run only"],
    [`import "../layers/SessionStoreMemory.ts"`, "src/services imports src/run only"],
    [`import "../Agent.ts"`, "src/services imports src/run only"]
  ],
  "src/services/folder/Case.ts": [
    [`import "../Model.ts"`, undefined],
    [`import "../../run/Message.ts"`, undefined],
    [`import "effect"`, path],
    [`import "effect/ai/Tool"`, adapters],
    [`import "node:fs"`, builtin],
    [`import "../../loop/drive/Drive.ts"`, "src/services imports src/run only"],
    [`import "../../Agent.ts"`, "src/services imports src/run only"]
  ],
  "src/services/Model.ts": [
    [`import type { Any } from "effect/ai/Tool"`, undefined],
    [`import type * as Toolkit from "effect/ai/Toolkit"`, undefined],
    [`import "../run/Message.ts"`, undefined],
    [`import "effect/sql"`, path],
    [`import * as Tool from "effect/ai/Tool"`, types],
    [`import { type Any as Any2 } from "effect/ai/Tool"`, "no-import-type-side-effects"],
    [`import type { Service } from "effect/ai/LanguageModel"`, adapters],
    [`import "node:fs"`, builtin],
    [`import "../loop/drive/Drive.ts"`, "src/services imports src/run only"]
  ],
  "src/services/ToolExecutor.ts": [
    [`import type * as Toolkit from "effect/ai/Toolkit"`, undefined],
    [`import * as Toolkit2 from "effect/ai/Toolkit"`, types]
  ],
  "src/loop/Case.ts": [
    [`import "./Drive.ts"`, undefined],
    [`import "../run/Message.ts"`, undefined],
    [`import "../services/Model.ts"`, undefined],
    [`import "effect/cli"`, path],
    [`import "effect/ai/Tool"`, adapters],
    [`import type { Any } from "effect/ai/Tool"`, adapters],
    [`import "node:fs"`, builtin],
    [`import "../layers/SessionStoreMemory.ts"`, "src/loop imports src/run and src/services only"],
    [`import "../testing/index.ts"`, "src/loop imports src/run and src/services only"],
    [`import "../Agent.ts"`, "src/loop imports src/run and src/services only"]
  ],
  "src/loop/folder/Case.ts": [
    [`import "../drive/Drive.ts"`, undefined],
    [`import "../../run/Message.ts"`, undefined],
    [`import "../../services/Model.ts"`, undefined],
    [`import "effect/cli"`, path],
    [`import "effect/ai/Tool"`, adapters],
    [`import "node:fs"`, builtin],
    [`import "../../layers/SessionStoreMemory.ts"`, "src/loop imports src/run and src/services only"],
    [`import "../../Agent.ts"`, "src/loop imports src/run and src/services only"]
  ],
  ...Object.fromEntries(
    rooms.slice(0, -1).map((room, at) => [`src/loop/${room}/Case.ts`, [
      [`import "effect/cli"`, path],
      [`import "effect/ai/Tool"`, adapters],
      [`import "node:fs"`, builtin],
      [`import "../../run/Message.ts"`, undefined],
      [`import "../../Agent.ts"`, "src/loop imports src/run and src/services only"],
      ...rooms.flatMap((other, of): Array<Case> => {
        const report = of > at ? `src/loop/${room} imports the rooms below it only` : undefined
        return [
          [`import "../${other}/Case.ts"`, report],
          [`import type { ${other} } from "../${other}/Case.ts"`, report]
        ]
      })
    ]])
  ),
  "src/layers/Case.ts": [
    [`import "effect/ai/LanguageModel"`, undefined],
    [`import "@effect/sql-pg/PgClient"`, undefined],
    [`import "node:fs"`, undefined],
    [`import "./SessionStoreMemory.ts"`, undefined],
    [`import "../run/Message.ts"`, undefined],
    [`import "../services/Model.ts"`, undefined],
    [`import "effect/ai"`, path],
    [`import "@effect/sql-pg"`, path],
    [`import "@effect/platform-node"`, path],
    [`import "../loop/drive/Drive.ts"`, "src/layers imports src/run and src/services only"],
    [`import "../testing/index.ts"`, "src/layers imports src/run and src/services only"],
    [`import "../Agent.ts"`, "src/layers imports src/run and src/services only"]
  ],
  "src/layers/folder/Case.ts": [
    [`import "../SessionStoreMemory.ts"`, undefined],
    [`import "../../run/Message.ts"`, undefined],
    [`import "../../services/Model.ts"`, undefined],
    [`import "effect/ai"`, path],
    [`import "../../loop/drive/Drive.ts"`, "src/layers imports src/run and src/services only"],
    [`import "../../Agent.ts"`, "src/layers imports src/run and src/services only"]
  ],
  "src/testing/Case.ts": [
    [`import "effect/ai/LanguageModel"`, undefined],
    [`import "effect/testing/TestClock"`, undefined],
    [`import "../layers/SessionStoreMemory.ts"`, undefined],
    [`import "../Agent.ts"`, undefined],
    [`import "@effect/vitest"`, undefined],
    [`import "effect/testing"`, path],
    [`import "@effect/platform-node"`, path],
    [`import "../loop/drive/Drive.ts"`, "src/testing imports"],
    [`import "../cli/main.ts"`, "src/testing imports"],
    [`import "../index.ts"`, "src/testing imports"]
  ],
  "src/testing/folder/Case.ts": [
    [`import "@effect/vitest"`, undefined],
    [`import "../ScriptedModel.ts"`, undefined],
    [`import "../../run/Message.ts"`, undefined],
    [`import "../../layers/SessionStoreMemory.ts"`, undefined],
    [`import "effect/testing"`, path],
    [`import "../../loop/drive/Drive.ts"`, "src/testing imports"],
    [`import "../../cli/main.ts"`, "src/testing imports"]
  ],
  "src/Agent.ts": [
    [`import type { Any } from "effect/ai/Tool"`, undefined],
    [`import "./loop/drive/Drive.ts"`, undefined],
    [`import "effect"`, path],
    [`import "effect/ai/Tool"`, types],
    [`import "effect/ai/Chat"`, ai],
    [`import "./cli/main.ts"`, "Nothing imports src/cli"]
  ],
  "src/Case.ts": [
    [`import "./layers/SessionStoreMemory.ts"`, undefined],
    [`import "effect"`, path],
    [`import type { Any } from "effect/ai/Tool"`, ai],
    [`import "./cli/main.ts"`, "Nothing imports src/cli"]
  ],
  "src/node/Case.ts": [
    [`import "../Agent.ts"`, undefined],
    [`import "@effect/platform-node/NodeRuntime"`, undefined],
    [`import "@effect/platform-node"`, path],
    [`import "effect/ai/Tool"`, ai],
    [`import "../cli/main.ts"`, "Nothing imports src/cli"]
  ],
  "src/ai-sdk/Case.ts": [
    [`import "../layers/LanguageModelAiSdk.ts"`, undefined],
    [`import "effect"`, path],
    [`import "effect/ai/Tool"`, ai],
    [`import "../cli/main.ts"`, "Nothing imports src/cli"]
  ],
  "src/cli/Case.ts": [
    [`import "../Agent.ts"`, undefined],
    [`import "effect/ai/Tool"`, undefined],
    [`import "node:fs"`, undefined],
    [`import "effect/cli"`, path]
  ],
  "test/Case.test.ts": [
    [`import "effect"`, undefined],
    [`import "fiberloop"`, undefined],
    [`import "../src/cli/Case.ts"`, undefined]
  ]
}

/** Files that break a rule as a whole: the words of the report. */
const files: Record<string, readonly [source: string, report: string]> = {
  "src/run/Exported.ts": ["export default 1", "no-default-export"],
  "src/run/Floating.ts": ["Promise.resolve(1)", "no-floating-promises"],
  "src/run/Switch.ts": [
    `export const f = (x: "a" | "b") => {\n  switch (x) {\n    case "a":\n      return 1\n  }\n}`,
    "switch-exhaustiveness-check"
  ],
  "src/run/Left.ts": [`import * as Right from "./Right.ts"\nexport const left = () => Right.right`, "no-cycle"],
  "src/run/Right.ts": [`import * as Left from "./Left.ts"\nexport const right = () => Left.left`, "no-cycle"],
  "src/run/Long.ts": [`export const a = 1\n${"\n".repeat(250)}export const b = 2`, "max-lines"],
  "src/layers/Builtin.ts": [`import "fs"`, "prefer-node-protocol"]
}

interface Report {
  readonly filename: string
  readonly code: string
  readonly help?: string
  readonly severity: string
  readonly labels: ReadonlyArray<{ readonly span: { readonly line: number } }>
}

let folder: string
let reports: ReadonlyArray<Report>

beforeAll(async () => {
  folder = FileSystem.mkdtempSync(join(tmpdir(), "fiberloop-lint-"))
  for (const file of [".oxlintrc.json", "tsconfig.json"]) FileSystem.copyFileSync(join(root, file), join(folder, file))
  FileSystem.symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  const write = (file: string, source: string) => {
    FileSystem.mkdirSync(dirname(join(folder, file)), { recursive: true })
    FileSystem.writeFileSync(join(folder, file), source)
  }
  for (const [file, lines] of Object.entries(imports)) write(file, lines.map(([statement]) => statement).join("\n"))
  for (const [file, [source]] of Object.entries(files)) write(file, source)
  const output = await new Promise<string>((resolve) =>
    execFile(
      join(root, "node_modules/.bin/oxlint"),
      ["--type-aware", "--format=json", "src", "test"],
      { cwd: folder },
      (_, stdout) => resolve(stdout)
    )
  )
  reports = JSON.parse(output).diagnostics
})

afterAll(() => FileSystem.rmSync(folder, { recursive: true, force: true }))

/** What was reported for a file, or for one line of it, as `rule: message`; unused names in the cases aside. */
const reported = (file: string, line?: number) =>
  reports
    .filter((_) => _.filename === file && (line === undefined || _.labels.some(({ span }) => span.line === line)))
    .map((_) => `${_.code}: ${_.help ?? ""}`)
    .filter((_) => !_.startsWith("eslint(no-unused-vars)"))

for (const [file, lines] of Object.entries(imports)) {
  it(`${file} may import this but not that`, () => {
    const found = lines.map(([statement, report], index) => {
      const all = reported(file, index + 1)
      return [statement, report !== undefined && all.some((_) => _.includes(report)) ? report : all.join() || undefined]
    })
    assert.deepStrictEqual(found, lines.map((_) => [..._]))
  })
}

for (const [file, [, report]] of Object.entries(files)) {
  it(`${file} is reported by ${report}`, () => {
    assert.isTrue(reported(file).some((_) => _.includes(report)), `reported: ${JSON.stringify(reported(file))}`)
  })
}

it("a long file gets a warning", () => {
  assert.deepStrictEqual(reports.filter((_) => _.code.includes("max-lines")).map((_) => _.severity), ["warning"])
})

/** Imports that oxlint does not follow: by a computed name, and by `require`. */
const unseen = (source: string) =>
  [...source.matchAll(/\bimport\(\s*[^"'?\s].*|\bcreateRequire\b/g)].map(([found]) => found)

it("an import that oxlint cannot follow is detected", () => {
  assert.deepStrictEqual(unseen("await import(`../loop/drive/Drive.ts`)"), ["import(`../loop/drive/Drive.ts`)"])
  assert.deepStrictEqual(unseen("await import(name)"), ["import(name)"])
  assert.deepStrictEqual(unseen("createRequire(import.meta.url)"), ["createRequire"])
  assert.deepStrictEqual(unseen(`await import("../loop/drive/Drive.ts")`), [])
})

it("the sources only import by names that oxlint can follow", () => {
  const found = FileSystem.globSync("src/**/*.ts", { cwd: root }).flatMap((file) =>
    unseen(FileSystem.readFileSync(join(root, file), "utf8")).map((_) => `${file}: ${_}`)
  )
  // what users write is theirs to name, and @effect/vitest has to be there before the tests are declared
  const files = ["src/testing/UserModule.ts", "src/testing/sessions/TestRunner.ts"]
  assert.deepStrictEqual(Array.from(new Set(found.map((_) => _.split(":")[0]))), files)
})
