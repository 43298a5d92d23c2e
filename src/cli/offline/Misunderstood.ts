/** How the offline model begins its answer to a task that it does not understand. Apart, since rendering knows it without the model. */
import type * as RunError from "../../run/RunError.ts"

export const beginning = "the offline model does not understand this task"

/** Whether a run failed with that answer. */
export const is = (reason: RunError.Stored["reason"]): boolean =>
  reason._tag === "InvalidRequest" && reason.message.startsWith(beginning)
