/** What a contender's packages take on disk: its own and those that they depend on, each once. */
import { existsSync, globSync, lstatSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Entry } from "./Contenders.ts"

const bench = join(import.meta.dirname, "..")

interface Manifest {
  readonly files?: ReadonlyArray<string>
  readonly dependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
  readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>
}

const read = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** Where Node finds a package from a folder. */
const find = (name: string, from: string): string | undefined => {
  const folder = join(from, "node_modules", name)
  if (existsSync(join(folder, "package.json"))) return folder
  return dirname(from) === from ? undefined : find(name, dirname(from))
}

const size = (path: string): number => {
  const stats = lstatSync(path)
  if (!stats.isDirectory()) return stats.size
  // a package inside another one is counted by itself
  const names = readdirSync(path).filter((name) => name !== "node_modules")
  return names.reduce((sum, name) => sum + size(join(path, name)), 0)
}

/** The bytes of a package's folder that it ships; patterns in its `files` are only those that exclude. */
export const shipped = (folder: string): number => {
  const { files = [] } = read(folder)
  const sizeOf = (names: ReadonlyArray<string>) => names.reduce((sum, name) => sum + size(join(folder, name)), 0)
  const left = files.filter((name) => name.startsWith("!")).map((name) => name.slice(1))
  return sizeOf(["package.json", "README.md", "LICENSE", ...files.filter((name) => !name.startsWith("!"))]) -
    sizeOf(left.flatMap((pattern) => globSync(pattern, { cwd: folder })))
}

export const of = (entry: Entry): { readonly bytes: number; readonly packages: number } => {
  const root = join(bench, "..")
  const found = new Map<string, number>()
  const add = (name: string, from: string) => {
    const folder = find(name, from)
    if (folder === undefined || found.has(folder)) return
    found.set(folder, size(folder))
    follow(read(folder), folder)
  }
  const follow = ({ dependencies, peerDependencies, peerDependenciesMeta }: Manifest, folder: string) => {
    for (const name of Object.keys(dependencies ?? {})) add(name, folder)
    for (const name of Object.keys(peerDependencies ?? {})) {
      if (peerDependenciesMeta?.[name]?.optional !== true) add(name, folder)
    }
  }
  if (entry.dependency !== undefined) add(entry.dependency, bench)
  else if (entry.name.startsWith("fiberloop")) {
    found.set(root, shipped(root))
    follow(read(root), root)
  } else if (!entry.isPlain) add("effect", root)
  return { bytes: [...found.values()].reduce((sum, bytes) => sum + bytes, 0), packages: found.size }
}
