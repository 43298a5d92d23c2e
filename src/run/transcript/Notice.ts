/** What the runtime says in the user's place, where a model would have nothing to answer. */

/** After an answer that a run goes on from. */
export const goOn = "Go on."

/** Before a conversation that begins with an answer, as what stood before it was left out. */
export const earlier = "(The conversation began earlier.)"

/** Nobody said it. */
export const is = (text: string): boolean => text === goOn || text === earlier
