/** Every relative link of the documentation leads to a file, and its fragment to a heading of that file. */
import { assert, describe, it } from "@effect/vitest"
import * as FileSystem from "node:fs"
import { dirname, join, relative } from "node:path"
import { linksOf } from "../../scripts/Snippets.ts"

const root = join(import.meta.dirname, "../..")
const pages = [
  "README.md",
  "AGENTS.md",
  "examples/README.md",
  "src/loop/README.md",
  ...FileSystem.globSync("docs/**/*.md", { cwd: root })
]
const read = (path: string) => FileSystem.readFileSync(join(root, path), "utf8").replace(/^```[^]*?^```$/gm, "")

/** The anchors that GitHub makes for the headings of a page. */
const anchors = (markdown: string): ReadonlyArray<string> =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")
  )

/** Why a link on a page leads nowhere. */
const broken = (path: string, link: string): ReadonlyArray<string> => {
  const [target = "", fragment] = link.split("#")
  const file = target === "" ? path : relative(root, join(root, dirname(path), target))
  if (file.startsWith("..") || !FileSystem.existsSync(join(root, file))) return [`${path}: there is no ${link}`]
  if (fragment === undefined || anchors(read(file)).includes(fragment)) return []
  return [`${path}: ${file} has no heading #${fragment}`]
}

describe("a relative link", () => {
  for (const path of pages) {
    it(`in ${path} leads somewhere`, () => {
      assert.deepStrictEqual(linksOf(read(path)).flatMap((link) => broken(path, link)), [])
    })
  }

  it("in docs/README.md leads to every other page", () => {
    const linked = linksOf(read("docs/README.md"))
    const all = pages.filter((path) => path.startsWith("docs/")).map((path) => path.slice("docs/".length))
    assert.deepStrictEqual(all.filter((page) => page !== "README.md" && !linked.includes(page)), [])
  })

  it("in every page of docs leads back to README.md and to the index", () => {
    const others = pages.filter((path) => path.startsWith("docs/") && path !== "docs/README.md")
    const lost = others.filter((path) =>
      !["../README.md", "README.md"].every((back) => linksOf(read(path)).includes(back))
    )
    assert.deepStrictEqual(lost, [])
  })
})
