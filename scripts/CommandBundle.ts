/**
 * The `fiberloop` command as a few files that hold all that they import, but for the packages of providers, which a user
 * installs who wants them: a process starts in half the time that it takes to find and read the 230 modules they are made of. The
 * command loads no code of its user, so that nothing meets its copy of effect.
 */
import * as FileSystem from "node:fs"
import { join, resolve } from "node:path"
import { rolldown } from "rolldown"

const root = resolve(import.meta.dirname, "..")
const commands = join(root, "src/cli")

/** Writes it to `folder`, which has the package's `package.json` two folders above it, with the licenses of what it holds. */
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
    // beside each other, where a module looks for its worker
    entryFileNames: "[name].js",
    chunkFileNames: "[name].chunk.js",
    comments: false,
    // names stay, for whoever reads what went wrong
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } }
  })
  await bundle.close()
  const modules = output.flatMap((file) => file.type === "chunk" ? file.moduleIds : [])
  FileSystem.writeFileSync(join(folder, "LICENSES.txt"), licenses(modules))
}

/** The licenses of the packages that modules lie in. */
const licenses = (modules: ReadonlyArray<string>): string => {
  const packages = new Set(modules.flatMap((module) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(module)?.[0] ?? []))
  const texts = Array.from(packages).toSorted().map((folder) => {
    const read = (file: string) => FileSystem.readFileSync(join(folder, file), "utf8").trim()
    const { name, version } = JSON.parse(read("package.json")) as { readonly name: string; readonly version: string }
    return `${name} ${version}\n\n${read("LICENSE")}\n`
  })
  return texts.join(`\n${"-".repeat(80)}\n\n`)
}
