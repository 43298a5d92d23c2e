/**
 * Whether settings that hold code or a time of the application are what they are meant to be: another shape would be noticed in the
 * middle of a run, as a bug of ours, or never.
 *
 * Does not own hooks (`HookCheck`), policies for failed calls (`RetryCheck`), nor limits and sizes (`InputCheck`).
 */
import * as Duration from "effect/Duration"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Foreign from "../../run/Foreign.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import * as Approver from "../../services/Approver.ts"
import * as Grace from "../../services/Grace.ts"
import * as Ids from "../../services/Ids.ts"
import type * as Observers from "../../services/Observers.ts"
import * as Prices from "../../services/Prices.ts"
import * as Reconciler from "../../services/Reconciler.ts"
import * as RecordContent from "../../services/RecordContent.ts"
import * as Tokenizer from "../../services/Tokenizer.ts"

/** Observers as they may watch; untyped code may pass anything. An observer may be an object of a class, with members of its own. */
export const observers = (
  given: ReadonlyArray<Observers.Observer>
): InputCheck.Checked<ReadonlyArray<Observers.Observer>> =>
  Result.flatMap(InputCheck.list("observers", given, "observers"), (observers) => {
    const wrong = observers.map(wrongIn).find((wrong) => wrong !== undefined)
    return wrong === undefined ? Result.succeed(observers) : InputCheck.refuse("observers", wrong)
  })

const wrongIn = ({ name, observe }: Observers.Observer, at: number): string | undefined => {
  const unnamed = InputCheck.unnamed(`observers[${at}].name`, name)
  if (unnamed !== undefined) return unnamed
  return typeof observe === "function"
    ? undefined
    : `observe of the observer "${name}" must be a function from a batch of events to an Effect`
}

/** The first of the settings in the context of a fiber that is none of its kind. */
export const others = (fiber: Fiber.Fiber<unknown, unknown>): InputCheck.Checked<undefined> => {
  const wrong = all.find(({ isOne }) => !isOne(fiber))
  return wrong === undefined
    ? Result.succeed(undefined)
    : InputCheck.refuse(wrong.name, `${wrong.name} must be ${wrong.is}`)
}

interface Setting {
  readonly name: string
  readonly isOne: (fiber: Fiber.Fiber<unknown, unknown>) => boolean
  readonly is: string
}

const all: ReadonlyArray<Setting> = [
  {
    name: "Ids",
    isOne: (fiber) => Foreign.isEffect(member(fiber.getRef(Ids.Ids), "next")),
    is: "an object whose next is an Effect of a new id, such as { next: Effect.sync(() => crypto.randomUUID()) }"
  },
  {
    name: "Grace",
    isOne: (fiber) => isPeriod(fiber.getRef(Grace.Grace)),
    is: "a Duration of at least 0, such as Duration.seconds(5)"
  },
  {
    name: "Prices",
    isOne: (fiber) => typeof fiber.getRef(Prices.Prices) === "function",
    is: "a function from a model to its price, as Prices.table returns it"
  },
  {
    name: "Tokenizer",
    isOne: (fiber) => typeof member(fiber.getRef(Tokenizer.Tokenizer), "count") === "function",
    is: "an object whose count is a function from a text to its number of tokens"
  },
  {
    name: "Approver",
    isOne: (fiber) => typeof member(fiber.getRef(Approver.Approver), "ask") === "function",
    is: "an object whose ask is a function from a question to an Effect of the answer"
  },
  {
    name: "Reconciler",
    isOne: (fiber) => typeof member(fiber.getRef(Reconciler.Reconciler), "reconcile") === "function",
    is: "an object whose reconcile is a function from a question to an Effect of the answer"
  },
  {
    name: "RecordContent",
    isOne: (fiber) => typeof fiber.getRef(RecordContent.RecordContent) === "boolean",
    is: "true or false"
  }
]

/** Untyped code may give no object at all. */
const member = <K extends string>(given: { readonly [P in K]: unknown } | null | undefined, name: K): unknown =>
  given?.[name]

const isPeriod = (given: unknown): boolean => Duration.isDuration(given) && Duration.toMillis(given) >= 0
