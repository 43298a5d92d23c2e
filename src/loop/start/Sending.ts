/**
 * Inputs to a session's run, wherever it is driven: through its drive where it lives in this process, otherwise by the store to the
 * process that has the session; an input that its sender has named always goes the second way, so that it is accepted once. Nothing is
 * written here: a run that nobody drives takes no input.
 *
 * Does not own what becomes of an input (`Inbox`, `SentInput`).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Delivery from "../../run/Delivery.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Inbox from "../env/Inbox.ts"
import * as Fold from "../log/Fold.ts"
import * as SentInput from "../log/SentInput.ts"
import * as TooLarge from "../log/TooLarge.ts"
import * as Elsewhere from "./Elsewhere.ts"
import * as Identity from "./Identity.ts"
import type * as Visit from "./Visit.ts"

/** Awaits what becomes of an input. */
type Told = Effect.Effect<Delivery.Delivery, RunError.RunError>

/**
 * Sends an input to the session's last run; it is stored when this returns, or never will be. Fails with `SessionBusy` where the
 * session's holder takes no input: it does something else, or is of a version that cannot be sent one.
 */
export const send = Effect.fnUntraced(function*(
  { services: { runs, store }, settings }: Visit.Visitor,
  sessionId: string,
  input: Inbox.Input
): Effect.fn.Return<Told, RunError.RunError> {
  const live = yield* runs.inSession(sessionId)
  const isHere = live !== undefined && Exit.isSuccess(yield* Effect.exit(live.begun))
  if (isHere && input.id === undefined) return yield* live.accept(input)
  const { state } = yield* Fold.lastRun(store, sessionId)
  const { end, runId } = state
  if (input.id !== undefined) {
    // the message that the run began with
    if (input.id === runId) return Effect.succeed(Delivery.delivered(1))
    const accepted = yield* SentInput.accepted(store, sessionId, state, input.id)
    if (Option.isSome(accepted)) return SentInput.known(store, sessionId, accepted.value, state)
  }
  // a run here needs no store that passes an input on
  if (isHere && store.send === undefined) return yield* live.accept(input)
  if (runId === undefined || (end !== undefined && !RunEvent.isLeft(end))) {
    return notDelivered(end?._tag === "RunSuspended" ? "suspended" : "ended")
  }
  const tooLarge = TooLarge.of("the message", input.messages)
  if (tooLarge !== undefined) return yield* tooLarge
  const sent: SessionStore.SentInput = {
    ...input,
    _tag: "Input",
    id: input.id ?? (yield* Identity.next(settings.ids)),
    after: state.seq
  }
  const fate = yield* sendElsewhere(store, sessionId, runId, sent)
  if (Option.isNone(fate)) return notDelivered("left")
  const { value } = fate
  return value._tag === "InputQueued" ? SentInput.delivery(store, sessionId, value, state) : Effect.succeed(value)
})

const notDelivered = (reason: Delivery.Reason): Told => Effect.succeed(Delivery.notDelivered(reason))

/** Sends until the log says what became of it; `None`: nobody drives the run, and it was not accepted. */
const sendElsewhere = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  runId: string,
  sent: SessionStore.SentInput
): Effect.fn.Return<Option.Option<SentInput.Fate>, RunError.RunError> {
  const refusals = new Elsewhere.Refusals()
  let wasTold = false
  while (true) {
    const told = yield* tell(store, sessionId, runId, sent)
    if (typeof told !== "string") {
      const fate = yield* SentInput.read(store, sessionId, sent)
      if (Option.isSome(fate)) return fate
      if (!(yield* refusals.goOn(true))) return yield* Elsewhere.inUse(told, "steer", "cannot be sent a message")
      continue
    }
    yield* refusals.goOn(false)
    if (told === "told") {
      wasTold = true
      // whoever has the session may die with it
      const fate = yield* Effect.timeoutOption(SentInput.watch(store, sessionId, sent), Elsewhere.answerTime)
      if (Option.isSome(fate)) return fate.value
    } else {
      const fate = yield* wasTold ? readAlone(store, sessionId, runId, sent) : SentInput.read(store, sessionId, sent)
      if (fate !== "taken") return fate
      yield* Elsewhere.pause
    }
  }
})

/** A store that passes nothing on knows only whether somebody has the session. */
const tell = (store: SessionStore.Store, sessionId: string, runId: string, sent: SessionStore.SentInput) =>
  Elsewhere.told(
    store.send === undefined
      ? Effect.as(Effect.scoped(store.open(sessionId, { runId, create: false })), false)
      : store.send(sessionId, runId, sent)
  )

/** Reads the log where nobody can write to it: a process that is taken for dead accepts nothing after that. */
const readAlone = (store: SessionStore.Store, sessionId: string, runId: string, sent: SessionStore.SentInput) =>
  Effect.catchReason(
    Effect.scoped(
      Effect.andThen(store.open(sessionId, { runId, create: false }), SentInput.read(store, sessionId, sent))
    ),
    "RetryableError",
    "SessionBusy",
    () => Effect.succeed("taken" as const)
  )
