/** Answers where a text is, from `search_text`. */
import * as Files from "./Files.ts"
import type { Search } from "./Intent.ts"
import type { Plan } from "./Plan.ts"
import * as Wording from "./Wording.ts"

const mostLines = 200
const mostFiles = 1_000

export function* plan(search: Search): Plan<string> {
  const { show, text, where } = search
  const want = show === "lines" ? mostLines : show === "files" ? mostFiles : 1
  const ask = (ignoreCase: boolean) =>
    Files.within(where, (params) =>
      Files.search(
        { text, ...params, ...(show === "files" && { maxPerFile: 1 }), ...(ignoreCase && { ignoreCase: true }) },
        want
      ))
  const exact = yield* ask(false)
  if (exact.result._tag === "Refused") return Wording.refusal(exact.result, exact.folder)
  const among = `${where.pattern === undefined ? "" : ` in ${Wording.file(where)}s`}${Wording.under(exact.folder)}`
  if (exact.result.value.total > 0) return report(search, exact.result.value, among)
  const none = `${JSON.stringify(text)} is in no text file${among}.`
  const loose = text.toLowerCase() === text.toUpperCase() ? undefined : yield* ask(true)
  return loose?.result._tag === "Got" && loose.result.value.total > 0
    ? Wording.lines(none, `With any letter case: ${report(search, loose.result.value, among)}`)
    : Wording.lines(none, Wording.notes(exact.result.value.note))
}

const report = (
  { show, text }: Search,
  found: {
    readonly matches: ReadonlyArray<{ readonly path: string; readonly line: number; readonly text: string }>
    readonly files: number
    readonly total: number
    readonly occurrences?: number
    readonly note?: string
  },
  among: string
): string => {
  const { files, matches, note, total } = found
  const quoted = JSON.stringify(text)
  const inFiles = `${Wording.count(total, "line")} of ${Wording.count(files, "file")}`
  const times = Wording.count(found.occurrences ?? total, "time")
  switch (show) {
    case "occurrences":
      return Wording.lines(`${quoted} occurs ${times}${among}, in ${inFiles}.`, Wording.notes(note))
    case "fileCount":
      return Wording.lines(containing(files, among, quoted) + ".", Wording.notes(note))
    case "files":
      return Wording.lines(
        `${containing(files, among, quoted)}:`,
        matches.map(({ path }) => Wording.name(path)),
        files > matches.length ? `... and ${Wording.count(files - matches.length, "more file")}.` : "",
        Wording.notes(note)
      )
    case "lines":
      return Wording.lines(
        `${quoted} occurs ${times}${among}, in ${inFiles}:`,
        matches.map((match) => `${Wording.name(match.path)}:${match.line}: ${match.text.trim()}`),
        total > matches.length
          ? `... and ${
            Wording.count(total - matches.length, "more line")
          }: name a folder or a kind of files to see fewer.`
          : "",
        Wording.notes(note)
      )
  }
}

const containing = (files: number, among: string, quoted: string): string =>
  `${Wording.count(files, "file")}${among} ${files === 1 ? "contains" : "contain"} ${quoted}`
