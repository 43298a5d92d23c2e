/**
 * What was said, and what runs for it, as something that nobody can write into: inputs, answers, arguments, outcomes. They are handed to
 * code that is not ours, and what a reader, a hook or an approver changed in place would run instead of what is stored, and of
 * what a person allowed.
 */
import type * as RunEvent from "./RunEvent.ts"

/**
 * Freezes plain data, with all that is in it, and gives the same value. What is frozen is taken to be so in depth: what code that is not
 * ours gave is `thawed` first, which is also what keeps its own objects as they are.
 */
export const deep = <A>(value: A): A => {
  if (isOpen(value)) freeze(value)
  return value
}

const isOpen = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Object.isFrozen(value)

const freeze = (value: object): void => {
  Object.freeze(value)
  if (Array.isArray(value)) value.forEach(deep)
  else for (const key in value) deep(value[key as never])
}

/** Freezes what an event says that others go by; its own members, which nobody reads again, are left as they are. */
export const said = (event: RunEvent.Durable): void => {
  switch (event._tag) {
    case "RunStarted":
      deep(event.input)
      return
    case "RunResumed":
      deep(event.data)
      return
    case "AssistantMessage":
      deep(event.message)
      return
    case "ApprovalRequested":
    case "ToolStarted":
      deep(event.params)
      return
    case "ApprovalResolved":
      deep([event.params, event.result])
      return
    case "ToolSettled":
      deep(event.outcome)
      return
    case "InputQueued":
    case "InputReceived":
      deep(event.messages)
      return
    default:
  }
}

/** A copy of plain data, which whoever is given it may write into, and which others who have the original do not write into. */
export const thawed = <A>(value: A): A => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return Array.from(value, thawed) as A
  const copy: Record<string, unknown> = {}
  for (const key in value) {
    // a name that every object has a setter for
    if (key === "__proto__") Object.defineProperty(copy, key, { value: thawed(value[key]), ...own })
    else copy[key] = thawed(value[key])
  }
  return copy as A
}

const own = { writable: true, enumerable: true, configurable: true } as const
