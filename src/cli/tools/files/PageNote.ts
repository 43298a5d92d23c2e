/** Says which part of a list a page is, and what to do about the rest. Does not own what is listed. */

/** A page of `length` entries after the first `offset` ones of `total`. */
export interface Page {
  readonly offset: number
  readonly length: number
  readonly total: number
}

/** Whether more entries follow. */
export const isTruncated = ({ length, offset, total }: Page): boolean => total > offset + length

/** A sentence; none where the page is all there is. `narrow`: how to ask for less, said where more follows. */
export const of = (page: Page, things: string, narrow: string): ReadonlyArray<string> =>
  page.total <= page.length
    ? []
    : [`${nameOf(page)} of ${page.total} ${things}${isTruncated(page) ? `: narrow with ${narrow}` : ""}.`]

const nameOf = ({ length, offset }: Page): string =>
  offset === 0
    ? `The first ${length}`
    : length === 0
    ? `None after the first ${offset}`
    : `${offset + 1} to ${offset + length}`
