/** What a contender's packages take on the disk: its own and those that they depend on, each once. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Entry } from "./Contenders.ts"

const bench = join(import.meta.dirname, "..")

interface Manifest {
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

const size = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    // a package inside of one is counted for itself
    if (entry.name === "node_modules") return sum
    const path = join(folder, entry.name)
    return sum + (entry.isDirectory() ? size(path) : entry.isFile() ? statSync(path).size : 0)
  }, 0)

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
    // the package ships its sources, and about as much again as JavaScript, types and maps of both
    found.set(root, size(join(root, "src")) * 3)
    follow(read(root), root)
  } else add("effect", root)
  return { bytes: [...found.values()].reduce((sum, bytes) => sum + bytes, 0), packages: found.size }
}
