/** A summary as a conversation remembers it: under a heading that says what it is. Does not own how a summary is made. */

const heading = "Summary of the conversation so far:"

/** The text that the model of the conversation reads. */
export const render = (summary: string): string => `${heading}\n${summary}`

/** The text under the heading; a text without the heading is returned whole. */
export const read = (text: string): string => text.startsWith(heading) ? text.slice(heading.length).trim() : text
