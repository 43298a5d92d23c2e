/** A number of things, in words. */

/** `1 turn`, `2 turns` */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`
