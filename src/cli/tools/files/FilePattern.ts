/**
 * Owns which files a glob pattern selects, over `effect/Glob` (linear matching, no backtracking over `**`).
 * Does not own which files exist.
 */
import * as Glob from "effect/Glob"
import * as Schema from "effect/Schema"

/** The `pattern` parameter of the tools. */
export const Pattern = Schema.String.check(Schema.isMaxLength(500)).annotate({
  description: "Glob such as \"src/**/*.ts\" (from the root or from folder), or \"*.md\" for that name anywhere below"
})

/**
 * Whether a file is selected, by its path from the root and from the folder that is looked at. A pattern without a slash
 * matches base names, one that ends with a slash selects everything below. Hidden files count as files.
 */
export const make = (pattern: string | undefined): (fromRoot: string, fromFolder: string) => boolean => {
  if (!pattern) return () => true
  const anchored = pattern.replace(/^(\.?\/)+/, "")
  const glob = Glob.make(anchored.endsWith("/") ? `${anchored}**` : anchored, { dot: true })
  return anchored.includes("/") || anchored !== pattern
    ? (fromRoot, fromFolder) => Glob.match(glob, fromFolder) || Glob.match(glob, fromRoot)
    : (_fromRoot, fromFolder) => Glob.match(glob, fromFolder.slice(fromFolder.lastIndexOf("/") + 1))
}
