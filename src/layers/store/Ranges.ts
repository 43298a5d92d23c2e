/**
 * Makes sense of callers' numbers, whatever they are: they come from URLs and command lines, and databases take only integers
 * in their range. NaN counts as not given.
 */

/** `seq` of the first event from `from` on. */
export const first = (from: number | undefined): number =>
  from === undefined || Number.isNaN(from) ? 1 : Math.max(1, Math.ceil(from))

/** `seq` of the last event up to `to`; 0 where there is none. */
export const last = (to: number | undefined, end: number): number =>
  to === undefined || Number.isNaN(to) ? end : Math.max(0, Math.floor(Math.min(to, end)))

/** How many of `most` a page holds at most. */
export const count = last
