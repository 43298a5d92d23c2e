/** Answers which files there are, or how many, from `list_files`. */
import * as Files from "./Files.ts"
import type { List } from "./Intent.ts"
import type { Plan } from "./Plan.ts"
import * as Wording from "./Wording.ts"

const most = 1_000

export function* plan({ show, where }: List): Plan<string> {
  const { folder, result } = yield* Files.within(where, (params) => Files.list(params, show === "paths" ? most : 1))
  if (result._tag === "Refused") return Wording.refusal(result, folder)
  const { entries, note, total } = result.value
  const kind = Wording.file(where)
  const place = Wording.under(folder)
  if (total === 0) return Wording.lines(`There are no ${kind}s${place}.`, Wording.notes(note))
  const number = `There ${total === 1 ? "is" : "are"} ${Wording.count(total, kind)}${place}`
  return show === "count" ? Wording.lines(`${number}.`, Wording.notes(note)) : Wording.lines(
    `${number}:`,
    entries.map(({ path }) => Wording.name(path)),
    total > entries.length
      ? `... and ${Wording.count(total - entries.length, "more file")}: name a folder or a kind of files to see fewer.`
      : "",
    Wording.notes(note)
  )
}
