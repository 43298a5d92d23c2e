/**
 * Builds the package into `dist`: the types by tsc, one file per source; the code by rolldown, which puts the modules that
 * every run needs into a few files, because a process pays for each file that it loads. A bundler takes from a file only what
 * is used.
 *     node scripts/build.mjs [folder, default dist]
 *
 * Every module keeps its place, so that `fiberloop/run/RunEvent` is what it is in the sources; a module inside a larger file
 * becomes a list of re-exports. The command stands alone.
 */
import { execFileSync } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { rolldown, RolldownMagicString } from "rolldown"
import { parseAst } from "rolldown/parseAst"
import * as CommandBundle from "./CommandBundle.ts"

const root = resolve(import.meta.dirname, "..")
const sources = join(root, "src")
const dist = resolve(process.argv[2] ?? join(root, "dist"))

/**
 * The modules that share one file, together with all their imports that no earlier file has: what a run is, the contracts, what
 * an agent needs (with what is too small for a file of its own), what adapters share with those who load them, and the adapters
 * of one kind; the converter of prompts is loaded when a tool asks for one. `isFirst`: only those that a first run loads; the
 * others, which read what a run left, get a file of their own, for those who import them or all of `fiberloop`. A module that
 * loads its adapter when its layer is built stays a separate file, since a bundler takes all that a file may load.
 */
const groups = [
  { name: "run", test: /^run\//, isFirst: true },
  { name: "views", test: /^run\// },
  { name: "services", test: /^services\// },
  { name: "agent", test: /^(Agent|Fiberloop|Presets|layers\/(ModelFallback|SessionStoreMemory))$/ },
  { name: "errors", test: /^layers\/(openai\/Body|provider\/AdapterErrors)$/ },
  { name: "PromptMessages", test: /^layers\/effectai\/PromptMessages$/ },
  { name: "model", test: /^layers\/effectai\/EffectAiModel$/ },
  { name: "openai", test: /^layers\/openai\/(ChatModel|PlainFetch)$/ },
  { name: "context", test: /^layers\/Context/ },
  { name: "sql", test: /^layers\/SessionStoreSql$/ },
  { name: "sqlite", test: /^layers\/sqlite\/SqliteStore$/ }
]

/** What users cannot import. */
const hidden = /^(cli|loop|layers\/[a-z]\w*|run\/input|services\/fibers|testing\/(faults|rules|sessions))\//

const nameOf = (file) => relative(sources, file).replace(/\.ts$/, "")

/** The deepest folder that holds all modules of a chunk, which looks for files beside itself there. */
const folderOf = (modules) => {
  const ours = modules.filter((file) => file.startsWith(sources))
  const [first = [], ...others] = ours.map((file) => dirname(nameOf(file)).split("/"))
  const differs = first.findIndex((part, i) => others.some((other) => other[i] !== part))
  return (differs < 0 ? first : first.slice(0, differs)).join("/")
}

/** The nodes in `node` that are of one of `types`, except those inside a node of a type in `without`. */
const within = (node, types, without = /^$/) => {
  if (node === null || typeof node !== "object" || without.test(node.type)) return []
  const inside = Object.values(node).flat().flatMap((child) => within(child, types, without))
  return types.test(node.type) ? [node, ...inside] : inside
}

/** Those that are evaluated with `node`: not inside a function, nor inside a class except for what it extends. */
const evaluated = (node, types) => within(node, types, /Function|ClassBody/)

/**
 * Marks what makes the constants of a module, which has no other effects, so that bundlers can drop unused ones: calls, and,
 * wrapped in one call, whatever spreads something, which for all they know may do anything.
 */
const pure = {
  name: "pure",
  transform: (code) => {
    const marked = new RolldownMagicString(code)
    const declarations = parseAst(code, { lang: "ts" }).body.map((statement) => statement.declaration ?? statement)
    const made = declarations.filter(({ type }) => /^(Variable|Class)Declaration$/.test(type))
    // a chain of calls has one start
    const calls = new Set(evaluated(made, /^(Call|New)Expression$/).map(({ start }) => start))
    for (const start of calls) marked.prependRight(start, "/* @__PURE__ */ ")
    for (const { init } of evaluated(made, /^VariableDeclarator$/)) {
      if (evaluated(init, /^SpreadElement$/).length === 0) continue
      marked.prependLeft(init.start, "/* @__PURE__ */ (() => (").appendRight(init.end, "))()")
    }
    return { code: marked }
  }
}

/** For each module, by its URL, where the functions begin that a first run calls. */
const calledFirst = () => {
  const folder = mkdtempSync(join(tmpdir(), "fiberloop-build-"))
  try {
    execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", join(root, "scripts/FirstRun.ts")], {
      env: { ...process.env, NODE_V8_COVERAGE: folder },
      stdio: "inherit"
    })
    const [report] = globSync(join(folder, "*.json"))
    const { result } = JSON.parse(readFileSync(report, "utf8"))
    const called = (functions) => functions.map(({ ranges }) => ranges[0]).filter(({ count }) => count > 0)
    return new Map(result.map(({ url, functions }) => [url, new Set(called(functions).map((_) => _.startOffset))]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * Puts parentheses around what a first run calls, so that V8 compiles it with its module: other functions are parsed twice, to
 * find their end and when they are called. Methods and declarations cannot be marked.
 */
const eager = (called) => ({
  name: "eager",
  transform: (code, id) => {
    const starts = called.get(pathToFileURL(id).href)
    if (starts === undefined) return undefined
    const marked = new RolldownMagicString(code)
    const functions = within(parseAst(code, { lang: "ts" }).body, /^(Arrow)?FunctionExpression$/)
    // once types are removed, an arrow function begins after its type parameters
    const first = functions.filter(({ start, typeParameters }) => starts.has(start) || starts.has(typeParameters?.end))
    for (const { end, start } of first) marked.prependRight(start, "(").appendLeft(end, ")")
    return { code: marked }
  }
})

const files = globSync(join(sources, "**/*.ts"))
const entries = files.map((file) => [nameOf(file), file]).filter(([name]) => !hidden.test(name))

rmSync(dist, { recursive: true, force: true })
const tsc = join(root, "node_modules/typescript/bin/tsc")
execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", dist], { stdio: "inherit" })

const called = calledFirst()
const bundle = await rolldown({
  input: Object.fromEntries(entries),
  external: /^[^./]/,
  platform: "node",
  plugins: [eager(called), pure],
  preserveEntrySignatures: "strict"
})
await bundle.write({
  dir: dist,
  format: "esm",
  sourcemap: true,
  minifyInternalExports: false,
  comments: { annotation: true, jsdoc: false, legal: false },
  minify: { compress: false, mangle: false, codegen: { asciiOnly: true, removeWhitespace: false } },
  entryFileNames: "[name].js",
  chunkFileNames: ({ moduleIds, name }) => join(folderOf(moduleIds), `${name}.chunk.js`),
  codeSplitting: {
    groups: groups.map(({ isFirst, name, test }, i) => ({
      name,
      test: (file) => test.test(nameOf(file)) && (isFirst !== true || called.has(pathToFileURL(file).href)),
      priority: groups.length - i
    }))
  }
})
await bundle.close()
await CommandBundle.write(join(dist, "cli"))
