/** Finds a session of the database by its id, the beginning of its id, or as the last one. Never makes a database. */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as ErrorWords from "../ErrorWords.ts"
import { badInput, badValue, type Refusal } from "../Refusal.ts"
import type { Settings } from "../Settings.ts"
import * as Database from "./Database.ts"

export interface Kept {
  readonly store: SessionStore.Store
  readonly info: SessionStore.SessionInfo
}

/** Names the session that was changed last, of those that no agent began for a call: the first that `sessions` shows. */
const last = "last"
/** The beginning of an id must be at least this long. */
const least = 6
const mostNamed = 3

/** The id that a new session is to have; one that no command could find it by is refused, as `InputCheck` refuses others. */
export const newId = (named: string, id: string, instead: string): Effect.Effect<string, Refusal> =>
  id === last
    ? badInput(`${named} is "${last}", which means the session that was changed last; ${instead}`)
    : Effect.mapError(Effect.fromResult(InputCheck.id(named, id, instead)), ErrorWords.refusal)

/** `newId` of what was typed for a flag, where it is a bad value. */
export const typedId = (flag: string, id: string, instead: string): Effect.Effect<string, Refusal> =>
  Effect.mapError(newId(flag, id, instead), ({ line }) => badValue(line))

/** The session, in a database to write to. */
export const find = (place: Pick<Settings, "db">, typed: string) => findIn(Database.existing, place, typed)

/** The session, for a command that only reads. */
export const toRead = (place: Pick<Settings, "db">, typed: string) => findIn(Database.readable, place, typed)

const findIn = Effect.fnUntraced(function*(
  open: typeof Database.existing,
  { db }: Pick<Settings, "db">,
  typed: string
): Effect.fn.Return<Kept, Refusal, Scope.Scope> {
  yield* notEmpty(typed)
  const store = yield* open({ db })
  return store === undefined ? yield* Database.noDatabase(typed, db) : yield* locate(store, typed)
})

const notEmpty = (typed: string): Effect.Effect<void, Refusal> =>
  typed.trim() === ""
    ? Effect.fail(badInput("the session is empty: give an id that fiberloop sessions lists"))
    : Effect.void

/**
 * Several sessions to delete, each once, in a database to write to. For one that is gone already, those that are left of what agents
 * began for its calls.
 */
export const findEach = Effect.fnUntraced(function*(
  { db }: Pick<Settings, "db">,
  named: Arr.NonEmptyReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<Kept>, Refusal, Scope.Scope> {
  yield* notEmpty(named[0])
  const store = yield* Database.existing({ db })
  if (store === undefined) return yield* Database.noDatabase(named[0], db)
  const found = new Map<string, Kept>()
  for (const typed of named) {
    yield* notEmpty(typed)
    const left = yield* Effect.mapError(leftBelow(store, typed), ErrorWords.refusal)
    const kept = left.length > 0 ? left.map((info) => ({ store, info })) : [yield* locate(store, typed)]
    for (const each of kept) found.set(each.info.sessionId, each)
  }
  return [...found.values()]
})

const leftBelow = Effect.fnUntraced(function*(
  store: Kept["store"],
  typed: string
): Effect.fn.Return<ReadonlyArray<SessionStore.SessionInfo>, SessionStore.StoreError> {
  if (typed === last || (yield* store.info(typed)) !== undefined) return []
  return yield* store.list({ parents: [typed] })
})

const locate = Effect.fnUntraced(function*(
  store: Kept["store"],
  typed: string
): Effect.fn.Return<Kept, Refusal> {
  // wins even over a session with this id, which may come from elsewhere
  const isLast = typed === last
  const info = isLast ? undefined : yield* Effect.mapError(store.info(typed), ErrorWords.refusal)
  if (info !== undefined) return { store, info }
  const [latest] = isLast
    ? yield* Effect.mapError(store.list({ limit: 1, parents: [undefined] }), ErrorWords.refusal)
    : []
  if (latest !== undefined) return { store, info: latest }
  const all = yield* Effect.mapError(store.list(), ErrorWords.refusal)
  const found = match(all.map(({ sessionId }) => sessionId), typed)
  if (typeof found !== "string") return yield* badInput(found.line)
  return { store, info: all.find(({ sessionId }) => sessionId === found)! }
})

/** The one id that begins with `typed`, which is not a whole id; else what is wrong with it. */
export const match = (ids: ReadonlyArray<string>, typed: string): string | { readonly line: string } => {
  const begun = ids.filter((id) => id.startsWith(typed))
  const name = JSON.stringify(typed)
  if (begun.length === 0) return { line: `there is no session ${name} in this database${near(ids, typed)}` }
  if (typed.length < least) {
    return { line: `${name} is too short, give at least ${least} characters of the id: ${listed(begun)}` }
  }
  return begun.length === 1
    ? begun[0]!
    : { line: `${begun.length} sessions begin with ${name}, give more of the id: ${listed(begun)}` }
}

/** The ids that share the longest beginning with a mistyped one. */
const near = (ids: ReadonlyArray<string>, typed: string): string => {
  const longest = ids.reduce((most, id) => Math.max(most, shared(id, typed)), 0)
  return longest < least
    ? ": fiberloop sessions lists those that are, and --db names another database"
    : `, did you mean ${listed(ids.filter((id) => shared(id, typed) === longest))}?`
}

const shared = (a: string, b: string): number => {
  let n = 0
  while (n < a.length && a[n] === b[n]) n++
  return n
}

const listed = (ids: ReadonlyArray<string>): string => {
  const named = ids.slice(0, mostNamed)
  const rest = ids.length - named.length
  if (rest > 0) return `${named.join(", ")} and ${rest} more`
  return named.length === 1 ? named[0]! : `${named.slice(0, -1).join(", ")} or ${named.at(-1)}`
}
