/**
 * Whether hooks are what they are meant to be: a misspelt one would guard nothing, and nobody would know.
 *
 * Does not own what a hook answers, nor how its time limit is kept (`HookRun`).
 */
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as Hooks from "../../services/Hooks.ts"

const points: Record<Hooks.Point, true> = {
  beforeModelCall: true,
  afterModelCall: true,
  beforeToolCall: true,
  afterToolCall: true
}
const pointNames = Object.keys(points).join(", ")

/** Hooks as they may run; untyped code may pass anything. A hook may have members of its own, as an object of a class has. */
export const hooks = (given: ReadonlyArray<Hooks.Hook>): InputCheck.Checked<ReadonlyArray<Hooks.Hook>> =>
  Result.flatMap(InputCheck.list("hooks", given, "hooks"), (hooks) => {
    const wrong = hooks.map(wrongIn).find((wrong) => wrong !== undefined)
    return wrong === undefined ? Result.succeed(hooks) : InputCheck.refuse("hooks", wrong)
  })

const wrongIn = (hook: Hooks.Hook, at: number): string | undefined => {
  const { kind, name } = hook
  const unnamed = InputCheck.unnamed(`hooks[${at}].name`, name)
  if (unnamed !== undefined) return unnamed
  if (kind !== undefined && kind !== "guard" && kind !== "observer") {
    return `the hook "${name}" must be of the kind guard or observer`
  }
  const limit = InputCheck.duration(
    "hooks",
    hook.timeout ?? 1,
    (millis) => millis >= 1,
    (quoted) => `the timeout of the hook "${name}" must be a duration of at least 1 millisecond; it is ${quoted}`
  )
  if (Result.isFailure(limit)) return limit.failure.message
  const members = hook as unknown as { readonly [name: string]: unknown }
  for (const member in members) {
    if (/^(before|after)[A-Z]/.test(member) && !Object.hasOwn(points, member)) {
      return `the hook "${name}" has no "${member}"; it has ${pointNames}`
    }
  }
  const given = Object.keys(points).filter((point) => point in members)
  const odd = given.find((point) => members[point] !== undefined && typeof members[point] !== "function")
  if (odd !== undefined) return `${odd} of the hook "${name}" must be a function`
  return given.length > 0 ? undefined : `the hook "${name}" would never run: give it one of ${pointNames}`
}
