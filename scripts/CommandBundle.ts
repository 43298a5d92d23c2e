/**
 * The `fiberloop` command with all that it imports, except the packages of providers, which users install if they want them.
 * Bundled, it starts in half the time that finding and reading the modules one by one would take. The command loads no code of
 * its user, so nothing meets its copy of effect.
 */
import * as FileSystem from "node:fs"
import { join, resolve } from "node:path"
import { rolldown } from "rolldown"

const root = resolve(import.meta.dirname, "..")
const commands = join(root, "src/cli")

/**
 * Writes the bundle to `folder`, two folders below the package's `package.json`, with the licenses of what it holds.
 */
export const write = async (folder: string): Promise<void> => {
  const bundle = await rolldown({
    input: { main: join(commands, "main.ts"), RegexWorker: join(commands, "tools/files/RegexWorker.ts") },
    external: /^@ai-sdk\//,
    platform: "node",
    onLog: (level, { message }) => {
      if (level === "warn") throw new Error(`the command cannot be bundled: ${message}`)
    }
  })
  const { output } = await bundle.write({
    dir: folder,
    format: "esm",
    // beside each other, since a module looks for its worker there
    entryFileNames: "[name].js",
    chunkFileNames: "[name].chunk.js",
    comments: false
  })
  await bundle.close()
  const chunks = output.filter((file) => file.type === "chunk")
  if (chunks.some(({ imports, name }) => name === "RegexWorker" && imports.some((file) => file.endsWith(".js")))) {
    throw new Error("RegexWorker loads more than itself, which each search with an expression would wait for")
  }
  const modules = chunks.flatMap((chunk) =>
    Object.entries(chunk.modules).flatMap(([module, { renderedLength }]) => renderedLength > 0 ? [module] : [])
  )
  FileSystem.writeFileSync(join(folder, "LICENSES.txt"), licenses(modules))
}

/** The licenses of the packages that the modules are from, and of parts of modules that are from others. */
const licenses = (modules: ReadonlyArray<string>): string => {
  const packages = new Map<string, Array<string>>()
  for (const module of modules) {
    const folder = /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(module)?.[0]
    if (folder !== undefined) packages.set(folder, [...packages.get(folder) ?? [], ...notices(module)])
  }
  const texts = Array.from(packages.keys()).toSorted().map((folder) => {
    const read = (file: string) => FileSystem.readFileSync(join(folder, file), "utf8").trim()
    const { name, version } = JSON.parse(read("package.json")) as { readonly name: string; readonly version: string }
    const others = packages.get(folder)!.map((notice) => `\nIn part:\n\n${notice}\n`)
    return `${name} ${version}\n\n${read("LICENSE")}\n${others.join("")}`
  })
  return texts.join(`\n${"-".repeat(80)}\n\n`)
}

/** Comments of a module that say whose a part of it is. */
const notices = (module: string): ReadonlyArray<string> => {
  const comments = FileSystem.readFileSync(module, "utf8").match(/(?:^[ \t]*\/\/.*\n)+|\/\*[^]*?\*\//gm) ?? []
  return comments
    .filter((comment) => /copyright \(c\)|licensed under|(?:following|under the) license/i.test(comment))
    .map((comment) => comment.replace(/^[ \t]*(?:\/\/|\/\*+|\*\/|\*) ?/gm, "").trim())
}
