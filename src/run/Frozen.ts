/**
 * Freezes what was said and what runs for it: events, with the inputs, answers, arguments and outcomes in them. They are handed
 * to code that is not ours, and a change made in place by a reader, a hook or an approver would run instead of what is stored and
 * what a person allowed.
 */

/** Freezes plain data, with everything in it, and returns the same value; one that is frozen is taken to be frozen in depth. */
export const deep = <A>(value: A): A => isOpen(value) ? inPlace(value) : value

/** Freezes a list and those of its items that are not frozen, with everything in them: each item is visited only once, ever. */
export const list = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => {
  for (let i = 0; i < items.length; i++) deep(items[i])
  return Object.freeze(items)
}

const isOpen = (value: unknown): boolean => typeof value === "object" && value !== null && !Object.isFrozen(value)

const inPlace = <A>(value: A): A => {
  if (!isPlain(value)) return value
  Object.freeze(value)
  if (Array.isArray(value)) value.forEach(inPlace)
  else for (const key in value) inPlace(value[key])
  return value
}

/** A list, or an object without a class: anything else, such as a date or bytes, is left as it is. */
const isPlain = (value: unknown): value is object => {
  if (typeof value !== "object" || value === null) return false
  if (Array.isArray(value)) return true
  const kind: unknown = Object.getPrototypeOf(value)
  return kind === Object.prototype || kind === null
}

/** A frozen copy of plain data, with everything in it, whatever of it was frozen before: nobody else has a part of it. */
export const copy = <A>(value: A): A => {
  if (!isPlain(value)) return value
  if (Array.isArray(value)) {
    // not by its own methods: a caller may have made the list
    const list: Array<unknown> = [...value]
    for (let i = 0; i < list.length; i++) list[i] = copy(list[i])
    return Object.freeze(list) as A
  }
  const copied = { ...value }
  for (const key in copied) if (typeof copied[key] === "object") copied[key] = copy(copied[key])
  return Object.freeze(copied)
}

/** Freezes an object, replacing members that are not frozen by copies. A frozen one is taken to be frozen in depth. */
export const whole = <A extends object>(self: A): A => {
  for (const key in self) {
    const member = self[key]
    // no call for each member of each event: most are texts and numbers
    if (typeof member === "object" && isOpen(member)) self[key] = copy(member)
  }
  return Object.freeze(self)
}

/** A copy of plain data: whoever gets it may write into it, and whoever keeps the original into the original. */
export const thawed = <A>(value: A): A => {
  if (!isPlain(value)) return value
  if (Array.isArray(value)) return Array.from(value, thawed) as A
  const copy = { ...value }
  for (const key in copy) if (typeof copy[key] === "object") copy[key] = thawed(copy[key])
  return copy
}

/** A value that may be written into: the value itself, or a copy if something plain in it is frozen. */
export const opened = <A>(value: A): A => hasFrozen(value) ? thawed(value) : value

const hasFrozen = (value: unknown): boolean => {
  if (!isPlain(value)) return false
  if (Object.isFrozen(value)) return true
  if (Array.isArray(value)) return value.some(hasFrozen)
  for (const key in value) if (hasFrozen(value[key as never])) return true
  return false
}
