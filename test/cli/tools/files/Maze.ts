/** A root of links out, in, in circles and nowhere, and the paths through it; `sandbox` puts canaries beside it. */
import { Schema } from "effect"
import { type Content, outsideOf } from "./Sandbox.ts"

/** What it contains, with this text in its files. */
export const files = (content: string): Record<string, Content> => ({
  "a/b/file.txt": content,
  "file.txt": content,
  "a/out": { link: "../../outside" },
  out: { link: "../outside" },
  evil: { link: "../root-evil" },
  up: { link: ".." },
  in: { link: "a/b" },
  circle: { link: "circle" },
  self: { link: "." },
  nowhere: { link: "../outside/nothing" },
  leak: { link: "../outside/hidden-name.txt" }
})

const segment = Schema.Literals([
  "a",
  "b",
  "file.txt",
  "hidden-name.txt",
  "folder",
  "outside",
  "root",
  "root-evil",
  "out",
  "evil",
  "up",
  "in",
  "circle",
  "self",
  "nowhere",
  "leak",
  "..",
  ".",
  "",
  "%2e%2e",
  "..\\",
  "~",
  "\0",
  " "
])

/** Segments of a path. */
export const segments = (most: number) => Schema.Array(segment).check(Schema.isMaxLength(most))

/** Where a path begins: here, at the root of the file system, or at one of the folders. */
export const Starts = Schema.Literals(["", "/", "root", "root-evil", "outside"])

export const startOf = (root: string, start: typeof Starts.Type): string =>
  start === "root"
    ? `${root}/`
    : start === "root-evil"
    ? `${root}-evil/`
    : start === "outside"
    ? `${outsideOf(root)}/`
    : start
