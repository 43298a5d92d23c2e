/**
 * What was said, and what runs for it, as something that nobody can write into: inputs, answers, arguments, outcomes. They are handed to
 * code that is not ours, and what a reader, a hook or an approver changed in place would run instead of what is stored, and of
 * what a person allowed.
 */
import type { Json } from "effect/Schema"
import type * as RunEvent from "./RunEvent.ts"

/** Freezes plain data, with all that is in it, and gives the same value. What is frozen is taken to be so in depth. */
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

/** A copy that whoever is given it may write into. */
export const thawed = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(thawed)
  const copy: Record<string, Json> = {}
  const given = value as { readonly [key: string]: Json }
  for (const key of Object.keys(given)) {
    // a name that every object has a setter for
    if (key === "__proto__") Object.defineProperty(copy, key, { value: thawed(given[key]!), ...own })
    else copy[key] = thawed(given[key]!)
  }
  return copy
}

const own = { writable: true, enumerable: true, configurable: true } as const
