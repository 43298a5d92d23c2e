/**
 * What was said, and what runs for it, as something that nobody can write into: events with the inputs, answers, arguments and
 * outcomes in them. They are handed to code that is not ours, and what a reader, a hook or an approver changed in place would run
 * instead of what is stored, and of what a person allowed.
 */

/** Freezes plain data, with all that is in it, and gives the same value; one that is frozen is taken to be so in depth. */
export const deep = <A>(value: A): A => isOpen(value) ? inPlace(value) : value

/** Freezes a list, and of its items those that are not frozen, with all that is in them: each is looked into once, ever. */
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

/** A list, or an object of no class: what else there is, such as a time or bytes, is left as it is. */
const isPlain = (value: unknown): value is object => {
  if (typeof value !== "object" || value === null) return false
  if (Array.isArray(value)) return true
  const kind: unknown = Object.getPrototypeOf(value)
  return kind === Object.prototype || kind === null
}

/** A frozen copy of plain data, with all that is in it, whatever was frozen of it before: nobody else has a part of it. */
export const copy = <A>(value: A): A => {
  if (!isPlain(value)) return value
  if (Array.isArray(value)) {
    // not by its own methods: it may be a list of somebody's making
    const list: Array<unknown> = [...value]
    for (let i = 0; i < list.length; i++) list[i] = copy(list[i])
    return Object.freeze(list) as A
  }
  const copied = { ...value }
  for (const key in copied) if (typeof copied[key] === "object") copied[key] = copy(copied[key])
  return Object.freeze(copied)
}

/** Freezes an object, with copies in the place of members that are not frozen. What is frozen is taken to be so in depth. */
export const whole = <A extends object>(self: A): A => {
  for (const key in self) if (isOpen(self[key])) self[key] = copy(self[key])
  return Object.freeze(self)
}

/** A copy of plain data: whoever is given one may write into it, and whoever keeps the original into that. */
export const thawed = <A>(value: A): A => {
  if (!isPlain(value)) return value
  if (Array.isArray(value)) return Array.from(value, thawed) as A
  const copy = { ...value }
  for (const key in copy) if (typeof copy[key] === "object") copy[key] = thawed(copy[key])
  return copy
}

/** What may be written into: the value itself, or a copy where something plain in it is frozen. */
export const opened = <A>(value: A): A => hasFrozen(value) ? thawed(value) : value

const hasFrozen = (value: unknown): boolean => {
  if (!isPlain(value)) return false
  if (Object.isFrozen(value)) return true
  if (Array.isArray(value)) return value.some(hasFrozen)
  for (const key in value) if (hasFrozen(value[key as never])) return true
  return false
}
