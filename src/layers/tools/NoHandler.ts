/** A handler that is not there, as the compiler cannot see among tools known only at run time: what the model is told of its call. */
import * as Foreign from "../../run/Foreign.ts"

class NoHandler extends Error {}

/** The defect of a call whose toolkit found no handler. */
export const of = (tool: string): Error =>
  new NoHandler(`the tool "${tool}" has no handler: provide what toLayer of its toolkit gives`)

/** Whether a defect is that of such a call. */
export const isSaidBy = (defect: unknown): boolean => Foreign.look(() => defect instanceof NoHandler, false)
