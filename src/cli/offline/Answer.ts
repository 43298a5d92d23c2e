/** The plan that answers an intent. */
import * as AnswerList from "./AnswerList.ts"
import * as AnswerOutline from "./AnswerOutline.ts"
import * as AnswerRank from "./AnswerRank.ts"
import * as AnswerRead from "./AnswerRead.ts"
import * as AnswerSearch from "./AnswerSearch.ts"
import * as Files from "./Files.ts"
import type { Calculate, Intent } from "./Intent.ts"
import type { Plan } from "./Plan.ts"

export const plan = (intent: Intent): Plan<string> => {
  switch (intent._tag) {
    case "Rank":
      return AnswerRank.plan(intent)
    case "Search":
      return AnswerSearch.plan(intent)
    case "Read":
      return AnswerRead.plan(intent)
    case "Measure":
      return AnswerRead.measure(intent)
    case "Outline":
      return AnswerOutline.plan(intent)
    case "Calculate":
      return calculate(intent)
    case "List":
      return AnswerList.plan(intent)
  }
}

function* calculate({ expression }: Calculate): Plan<string> {
  const [reply] = yield [{ tool: "calculate", params: { expression } }]
  if (reply!.isFailure) return `${expression} has no result. ${Files.refused("calculate", reply!).message}`
  const { exact, result } = reply!.result as { readonly result: string; readonly exact: boolean }
  return `${expression} ${exact ? "=" : "≈"} ${result}`
}
