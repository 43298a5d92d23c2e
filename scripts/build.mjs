/**
 * Builds the package into `dist`: the types by tsc, a file for each source; the code by rolldown, in which the rooms that every
 * run goes through are a file each, because a process pays for each file that it loads. A bundler takes of a room what is used.
 *
 *     node scripts/build.mjs [folder, default dist]
 *
 * Every module keeps its place, so that `fiberloop/run/RunEvent` is what it is in the sources; in a room it is a list of names.
 * The command stands by itself.
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
 * What lies in one file together with all that it imports and that is in none before: what a run is, the contracts, what an
 * agent needs, with what is too small for a file, what adapters share with those who load them, the adapters of one kind, of
 * which the converter of prompts is loaded when a tool asks for one. `isFirst`: only those that a first run loads; the others,
 * which read what a run left, are a file for who imports them, or all of `fiberloop`. A module that loads its adapter when its
 * layer is built stays a file, since a bundler takes all that a file may load.
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

/** What nobody can import. */
const hidden = /^(cli|loop|layers\/[a-z]\w*|run\/input|services\/fibers|testing\/(faults|rules|sessions))\//

const nameOf = (file) => relative(sources, file).replace(/\.ts$/, "")

/** The folder that all modules of a chunk lie in: files that it looks for beside itself are there. */
const folderOf = (modules) => {
  const ours = modules.filter((file) => file.startsWith(sources))
  const [first = [], ...others] = ours.map((file) => dirname(nameOf(file)).split("/"))
  const differs = first.findIndex((part, i) => others.some((other) => other[i] !== part))
  return (differs < 0 ? first : first.slice(0, differs)).join("/")
}

/** The nodes of some types in `node`, but in none of the types `without`. */
const within = (node, types, without = /^$/) => {
  if (node === null || typeof node !== "object" || without.test(node.type)) return []
  const inside = Object.values(node).flat().flatMap((child) => within(child, types, without))
  return types.test(node.type) ? [node, ...inside] : inside
}

/** Those that are evaluated where `node` is: not in a function, nor in a class but for what it extends. */
const evaluated = (node, types) => within(node, types, /Function|ClassBody/)

/**
 * Marks what makes the constants of a module, none of which does more than that, for bundlers to drop what nobody uses: calls,
 * and as one call what spreads something, which may do anything as far as they know.
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

/** Of each module, by its address, where the functions begin that a first run calls. */
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
 * Marks what a first run calls for V8 to compile it with its module, by parentheses around it: what is not marked is read
 * twice, for its end and when it is called. Methods and declarations cannot be marked.
 */
const eager = (called) => ({
  name: "eager",
  transform: (code, id) => {
    const starts = called.get(pathToFileURL(id).href)
    if (starts === undefined) return undefined
    const marked = new RolldownMagicString(code)
    const functions = within(parseAst(code, { lang: "ts" }).body, /^(Arrow)?FunctionExpression$/)
    // where types are taken off, an arrow begins behind its type parameters
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
