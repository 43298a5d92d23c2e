/** What the grammar made of a task, in words. */
import type { Intent, Where } from "../../../src/cli/offline/Intent.ts"

const where = ({ folders, pattern }: Where): string =>
  [...(folders.length === 0 ? [] : [`in ${folders.join("|")}`]), ...(pattern === undefined ? [] : [`of ${pattern}`])]
    .join(" ")

/** An intent on one line. */
export const told = (intent: Intent | undefined): string => {
  if (intent === undefined) return "nothing"
  switch (intent._tag) {
    case "Rank":
      return `${intent.count} ${intent.order} ${intent.by} ${where(intent.where)}`.trim()
    case "Search":
      return `${intent.show} <${intent.text}> ${where(intent.where)}`.trim()
    case "List":
      return `list ${intent.show} ${where(intent.where)}`.trim()
    case "Read":
      return `read ${intent.path} ${JSON.stringify(intent.lines ?? {})}`
    case "Calculate":
      return `= ${intent.expression}`
    default:
      return `${intent._tag.toLowerCase()} ${intent.path}`
  }
}
