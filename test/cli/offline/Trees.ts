/** Generated folders of files, and the truth about them by the system's own means. */
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Content, sandbox } from "../tools/files/Sandbox.ts"

const File = Schema.Struct({
  folder: Schema.Literals(["", "src/", "src/a b/", "src/übung/日本/", "test/", "deep/er/still/"]),
  name: Schema.Literals(["a.ts", "b.ts", "c.test.ts", "read me.md", "é.txt", "[x].ts", "z", "data.json", ".hidden"]),
  lines: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
  width: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })),
  needles: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  isTerminated: Schema.Boolean,
  isBinary: Schema.Boolean
})

/** A folder, as a record of what to write into it. */
export const Tree = Schema.Array(File).check(Schema.isMaxLength(12))

export const contents = (tree: typeof Tree.Type): Record<string, Content> =>
  Object.fromEntries(tree.map(({ folder, isBinary, isTerminated, lines, name, needles, width }) => {
    const line = "x".repeat(width) + "needle ".repeat(needles)
    const text = Array.from({ length: lines }, () => line).join("\n") + (isTerminated && lines > 0 ? "\n" : "")
    return [folder + name, isBinary ? new Uint8Array([...Buffer.from(text), 0]) : text]
  }))

/** A temp folder with the tree in it, until the scope closes. */
export const write = (tree: typeof Tree.Type) => sandbox(contents(tree))

export interface File {
  readonly path: string
  readonly bytes: number
  /** null if the file is binary */
  readonly lines: number | null
  readonly text: string
}

/** All files below the folder, ordered by path. */
export const files = (root: string, below = ""): ReadonlyArray<File> =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((path) => below === "" || path.startsWith(`${below}/`))
    .sort((a, b) => a < b ? -1 : 1)
    .map((path) => {
      const bytes = readFileSync(join(root, path))
      const text = bytes.toString()
      const lines = bytes.subarray(0, 8192).includes(0) ? null : text.split("\n").length - (/\n$|^$/.test(text) ? 1 : 0)
      return { path, bytes: bytes.length, lines, text: lines === null ? "" : text }
    })
