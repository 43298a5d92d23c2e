/** A summary as a conversation remembers it: under a heading that says what it is. Does not own how it is made. */

const heading = "Summary of the conversation so far:"

/** As the model of the conversation reads it. */
export const render = (summary: string): string => `${heading}\n${summary}`

/** What is said under the heading; all of a text that has none. */
export const read = (text: string): string => text.startsWith(heading) ? text.slice(heading.length).trim() : text
