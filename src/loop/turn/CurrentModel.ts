/**
 * Which model a run asks now: the agent's, or the fallback that took over for the rest of the run. Read from the log, so that a
 * resumed run asks the same one.
 *
 * Does not own how one takes over (`TakingOver`).
 */
import * as Message from "../../run/Message.ts"
import * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"

type Service = Model.Model["Service"]

/** Where the agent no longer has the model that took over, its first one is asked. */
export const of = ({ journal, model }: Pick<Env.Env, "journal" | "model">): Service => {
  const { switchedTo, switches } = journal.state
  if (switchedTo === undefined) return model
  const chain = Model.chainOf(model)
  const isIt = ({ info }: Service) => Message.isSameModel(info, switchedTo)
  const byPlace = chain[switches]
  // two models may have the same name, at two addresses
  return byPlace !== undefined && isIt(byPlace) ? byPlace : chain.find(isIt) ?? model
}
