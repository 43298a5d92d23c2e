/**
 * Owns what a code block in our Markdown means, and where its links lead: a `ts` block is a file, named by its fence or its
 * line, unless the fence says `fragment`. Neither compiles nor runs one.
 *
 *     ```ts                a file that must compile
 *     ```ts hello.ts       the same under a name, for the blocks that import it
 *     ```ts fragment       an excerpt, neither compiled nor run
 */

/** One `ts` block that is a file; `line` is that of its opening fence, from 1. */
export interface Snippet {
  readonly file: string
  readonly line: number
  readonly source: string
}

const block = /^```ts(?: +([^\n]*?))? *\n([\s\S]*?)^```/gm

/** The files in a Markdown text, in order. Fails on words after `ts` that have no meaning here. */
export const snippets = (markdown: string): ReadonlyArray<Snippet> =>
  [...markdown.matchAll(block)].flatMap(({ 1: info = "", 2: source = "", index }) => {
    const line = markdown.slice(0, index).split("\n").length
    if (info === "fragment") return []
    if (info !== "" && !/^[\w-]+(\.test)?\.ts$/.test(info)) {
      throw new Error(`line ${line}: "\`\`\`ts ${info}" is neither a file name nor "fragment"`)
    }
    return [{ file: info === "" ? `line-${line}.ts` : info, line, source }]
  })

/** The first file that runs something when it is started. */
export const program = (markdown: string): Snippet | undefined =>
  snippets(markdown).find(({ source }) => /^import /m.test(source) && /\brun(Main|Promise|Sync|Fork)\b/.test(source))

/** The targets of a Markdown text's relative links, as written: `docs/context.md#tokens`. Blocks of code have none. */
export const linksOf = (markdown: string): ReadonlyArray<string> =>
  [...markdown.replace(/^```[^]*?^```$/gm, "").matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^\w+:/.test(target))
