/** Which files the words of a task mean: kinds of files, folders, names. Pure. */
import type { Where } from "./Intent.ts"
import type { Phrase } from "./Phrase.ts"

const kinds = new Map(Object.entries({
  test: "*.{test,spec}.*",
  typescript: "*.{ts,tsx,mts,cts}",
  javascript: "*.{js,jsx,mjs,cjs}",
  markdown: "*.{md,markdown}",
  yaml: "*.{yaml,yml}",
  source: "*.{ts,tsx,mts,cts,js,jsx,mjs,cjs,py,rs,go,java,kt,c,h,cc,cpp,hpp,cs,rb,php,swift,scala}",
  python: "*.py",
  rust: "*.rs",
  java: "*.java",
  text: "*.txt",
  shell: "*.sh",
  image: "*.{png,jpg,jpeg,gif,svg,webp}",
  images: "*.{png,jpg,jpeg,gif,svg,webp}"
}))

const extensions = new Set(
  ("ts tsx mts cts js jsx mjs cjs json jsonl json5 md mdx txt py rs go c h cc cpp hpp cs rb php swift kt scala clj ex erl hs lua pl r " +
    "html htm css scss sass less xml yml toml ini cfg conf env sh bash zsh ps1 bat sql csv tsv svg png jpg jpeg gif webp ico pdf lock " +
    "log map vue svelte astro graphql proto tf dockerfile gradle zig nim dart wasm db sqlite bin zip gz tar").split(" ")
)

export const isGlob = (text: string): boolean => /[*?]/.test(text)

/** A pattern that selects this very name. */
export const literal = (name: string): string => name.replace(/[\\*?[\]{}]/g, "\\$&")

/** The pattern of a kind of file: `.ts`, `ts`, `*.test.ts`, `markdown`; `undefined` for a word that is not a kind. */
export const kindOf = (word: string, phrase: Phrase): string | undefined => {
  const name = phrase.quotedBy(word) ?? word
  if (isGlob(name)) return name
  if (/^\.[\w-][\w.-]*$/.test(name)) return `*${literal(name)}`
  const lower = name.toLowerCase()
  return kinds.get(lower) ?? (extensions.has(lower) ? `*.${lower}` : undefined)
}

const determiner = "(?:(?:this|the|my|our|current|whole|entire|all|of)\\s+)*"
const root = new RegExp(
  `^(?:${determiner}(?:project|repository|repo|folder|directory|tree|codebase|root|workspace|folders|directories|files?)` +
    "|here|there|everywhere|total|all|\\.|\\./)$",
  "i"
)
const kindOfFiles = new RegExp(`^${determiner}(\\S+)\\s+files?(?:\\s+(?:in|under|below|within|inside)\\s+(.+))?$`, "i")

/** Words that no unquoted folder name has: they say something else about the files. */
const condition =
  /(?<=^|\s)(?:and|or|not|but|without|with|excluding|except|including|than|to|for|of|in|under|on|contain\w*|mention\w*|use|uses|using|import\w*|reference\w*|call|calls|why|how|who|please|then|over|above|files?)(?=\s|$)|\s(?:\S+\s+){3}/i

/** What follows "in", "under" and the like; `undefined` for words that name no place. */
export const placeOf = (words: string, phrase: Phrase): Where | undefined => {
  const quoted = phrase.quotedBy(words)
  if (quoted !== undefined) return isGlob(quoted) ? { folders: [], pattern: quoted } : { folders: [quoted] }
  if (root.test(words)) return { folders: [] }
  const kind = kindOfFiles.exec(words)
  if (kind !== null) {
    const pattern = kindOf(kind[1]!, phrase)
    if (pattern === undefined) return undefined
    const inner = kind[2] === undefined ? { folders: [] } : placeOf(kind[2], phrase)
    return inner === undefined || inner.pattern !== undefined ? undefined : { ...inner, pattern }
  }
  if (isGlob(words)) return /\s/.test(words) ? undefined : { folders: [], pattern: words }
  if (condition.test(words)) return undefined
  return { folders: foldersOf(words.replace(/^the\s+/i, ""), phrase) }
}

const noun = "(?:folder|directory|dir)"

/** "src folder" is likelier `src` than `src folder`, "my docs folder" the other way round. */
const foldersOf = (words: string, phrase: Phrase): ReadonlyArray<string> => {
  const bare = words.replace(new RegExp(`^${noun}\\s+|\\s+${noun}$`, "i"), "")
  const names = /\s/.test(bare) ? [words, bare] : [bare, words]
  return [...new Set(names.map((name) => phrase.plain(name)))]
}

const place =
  /(?<=^|\s)(?:in|under|underneath|below|beneath|within|inside|from)\s+(.+?)(?=\s+(?:are|is|have|has|with|by|that|which|there|do|does|exist|exists)(?:\s|$)|$)/i
const owner = /(?<=^|\s)(?:does|do)\s+(?:the\s+)?(\S+(?:\s+(?:folder|directory))?)\s+(?:have|contain|hold)(?=\s|$)/i
const ofRoot =
  /(?<=^|\s)of\s+(?:(?:the|this|my|our)\s+)+(?:(?:whole|entire|current)\s+)?(?:project|repository|repo|codebase|package|workspace|folder|directory)(?=\s|$)/i

/** Takes the place out of the words; the root when none is named, `undefined` when it makes no sense. */
export const takePlace = (phrase: Phrase): Where | undefined => {
  const found = phrase.take(place) ?? phrase.take(owner)
  if (found !== undefined) return placeOf(found[1]!.replace(/[,;:]$/, ""), phrase)
  phrase.take(ofRoot)
  return { folders: [] }
}

const named =
  /(?<=^|\s)(?:(?:that|which) (?:is|are) )?(?:named|called|matching|whose names? (?:is|are)|with (?:the )?name)\s+(\S+)/i
const ending =
  /(?<=^|\s)(?:(?:that|which) )?(?:ending|end|ends|with (?:the |an? )?(?:extension|ending|suffix))(?: in| with| of)?\s+(\S+)/i
const ofKind = /(?<=^|\s)(\S+)\s+files?(?=\s|$)/i
const anyFiles = /(?<=^|\s)files?(?=\s|$)/i

/**
 * Takes "files" out of the words, with what names their kind or name: `{}` for files of any kind, `undefined` when no files are
 * meant. A word before it that is not a kind stays.
 */
export const takeFiles = (phrase: Phrase): { readonly pattern?: string } | undefined => {
  const patterns: Array<string> = []
  const name = phrase.take(named)?.[1]
  if (name !== undefined) patterns.push(globOf(phrase.plain(name)))
  const suffix = phrase.take(ending)?.[1]
  if (suffix !== undefined) patterns.push(`*${literal(phrase.plain(suffix).replace(/^(?!\.)/, "."))}`)
  const before = ofKind.exec(phrase.words)?.[1]
  const kind = before === undefined ? undefined : kindOf(before, phrase)
  if (kind !== undefined) patterns.push(kind)
  const isFiles = phrase.take(kind === undefined ? anyFiles : ofKind) !== undefined
  const glob = phrase.words.split(" ").find((word) => isGlob(phrase.plain(word)))
  if (glob !== undefined) {
    phrase.words = phrase.words.split(" ").filter((word) => word !== glob).join(" ")
    patterns.push(phrase.plain(glob))
  }
  const [pattern] = patterns
  if (patterns.length > 1) return undefined
  return pattern === undefined ? isFiles ? {} : undefined : { pattern }
}

/** A name is a pattern already when it has wildcards. */
export const globOf = (name: string): string => isGlob(name) ? name : literal(name)
