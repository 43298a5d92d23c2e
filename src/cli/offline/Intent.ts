/** What the offline model can be asked: five kinds of question, as data. Does not own their wording (`Grammar.ts`). */

/** Which files: below a folder (the root when there is none), those that a glob pattern selects (all when absent). */
export interface Where {
  /** What the words may mean, likeliest first: "my docs folder" is `my docs folder` or `my docs`. */
  readonly folders: ReadonlyArray<string>
  readonly pattern?: string
}

/** The `count` files with the most or the fewest lines or bytes. */
export interface Rank {
  readonly _tag: "Rank"
  readonly by: "lines" | "bytes"
  readonly order: "most" | "fewest"
  readonly count: number
  readonly where: Where
}

/** Where a text is: lines, files, or how many of them. */
export interface Search {
  readonly _tag: "Search"
  readonly text: string
  readonly show: "lines" | "files" | "occurrences" | "fileCount"
  readonly where: Where
}

/** Lines of a file, from 1; `to` absent: to the end; `last`: that many from the end. */
export type Lines =
  | { readonly from: number; readonly to?: number }
  | { readonly last: number }

export interface Read {
  readonly _tag: "Read"
  readonly path: string
  /** absent: the whole file */
  readonly lines?: Lines
}

/** How long a file is. */
export interface Measure {
  readonly _tag: "Measure"
  readonly path: string
}

/** Headings of a Markdown file, declarations of a source file. */
export interface Outline {
  readonly _tag: "Outline"
  readonly path: string
}

export interface Calculate {
  readonly _tag: "Calculate"
  readonly expression: string
}

/** Which files there are, or how many. */
export interface List {
  readonly _tag: "List"
  readonly show: "paths" | "count"
  readonly where: Where
}

export type Intent = Rank | Search | Read | Measure | Outline | Calculate | List
