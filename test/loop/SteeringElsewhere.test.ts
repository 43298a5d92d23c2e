/** What is said to a run that lives elsewhere: by its session, through whoever has that session. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as Agent from "../../src/Agent.ts"
import * as Hearing from "../../src/loop/drive/Hearing.ts"
import * as Message from "../../src/run/Message.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Sessions from "../../src/Sessions.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { started } from "../../src/testing/sessions/Fixtures.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const delivered = (turn: number) => ({ _tag: "Delivered", turn } as const)

/** A run held in its first answer, and an agent that knows of no run except through the store. */
const elsewhere = Effect.fnUntraced(function*(turns: ReadonlyArray<ScriptedModel.Turn> = [ScriptedModel.text("two")]) {
  const there = yield* Steering.held([ScriptedModel.text("one")], turns)
  const { agent } = yield* TestAgent.make([], { store: there.store })
  return { ...there, there: there.agent, agent }
})

/** Says something, and returns what becomes of it once that is stored. */
const say = (agent: Agent.Client<string>, kind: "steer" | "followUp", message: string) =>
  Effect.flatMap(agent.queue("s", kind, message), Effect.forkChild)

/** The store with some methods replaced. */
const replaced = (store: TestStore.TestStore, service: Partial<TestStore.TestStore["service"]>) =>
  TestStore.over({ ...store.service, ...service })

/** A store that passes nothing on to whoever has the session, while `isDeaf()`. */
const deafening = (store: TestStore.TestStore, isDeaf: () => boolean) =>
  TestStore.sending(store, (...sent) => isDeaf() ? Effect.succeed(true) : store.service.send!(...sent))

/** Takes sessions over, as from a process that has died. */
const ofDead = (store: TestStore.TestStore) =>
  replaced(store, { open: (sessionId, options) => store.service.open(sessionId, { ...options, takeOver: true }) })

/** A message under way to a process that does not hear of it; whoever has the session hears once `hear` is called. */
const unheard = Effect.gen(function*() {
  const { store } = yield* elsewhere()
  let isDeaf = true
  const deaf = deafening(store, () => isDeaf)
  const { agent } = yield* TestAgent.make([], { store: deaf.store })
  const steering = yield* Effect.forkChild(agent.steer("s", "shorter"), { startImmediately: true })
  yield* deaf.sent
  const hear = () => {
    isDeaf = false
  }
  return { hear, steering, store }
})

/** Waits until the session's log has `n` messages that were accepted. */
const accepted = (store: TestStore.TestStore, n = 1) => TestStore.logged(store, "s", "InputQueued", n)

const reasonOf = (told: { readonly _tag: string; readonly reason?: string }) => `${told._tag} ${told.reason ?? ""}`

describe("what is said to a run that lives elsewhere", () => {
  it.effect("is stored there before the sender's first step ends, and delivered with the next turn", () =>
    Effect.gen(function*() {
      const { agent, gate, run, script, store } = yield* elsewhere()
      const told = yield* say(agent, "steer", "shorter")
      assert.deepStrictEqual(RunLog.tags(yield* store.log("s")), ["RunStarted", "TurnStarted", "InputQueued"])
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(told), delivered(2))
      assert.strictEqual((yield* run.result).text, "two")
      assert.deepStrictEqual(Steering.said((yield* script.requests)[1]), ["go", "shorter"])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("as a follow-up waits for the answer that would be the last", () =>
    Effect.gen(function*() {
      const { agent, gate, run, store } = yield* elsewhere([ScriptedModel.text("two"), ScriptedModel.text("three")])
      const [first, second] = [yield* say(agent, "followUp", "a"), yield* say(agent, "followUp", "b")]
      yield* gate.release
      assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(second)], [delivered(2), delivered(3)])
      assert.strictEqual((yield* run.result).text, "three")
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["followUp: a", "followUp: b"])
    }))

  it.effect("by `steer` and `followUp` returns what became of it", () =>
    Effect.gen(function*() {
      const { agent, gate, store } = yield* elsewhere([ScriptedModel.text("two"), ScriptedModel.text("three")])
      const steering = yield* Effect.forkChild(agent.steer("s", "now"), { startImmediately: true })
      const following = yield* Effect.forkChild(agent.followUp("s", [Message.user("then")]), { startImmediately: true })
      yield* accepted(store, 2)
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(steering), delivered(2))
      assert.deepStrictEqual(yield* Fiber.join(following), delivered(3))
    }))

  it.effect("needs the store alone", () =>
    Effect.gen(function*() {
      const { gate, store } = yield* elsewhere([ScriptedModel.text("two"), ScriptedModel.text("three")])
      const alone = Effect.provideService(SessionStore.SessionStore, store.service)
      const steering = yield* Effect.forkChild(alone(Sessions.steer("s", "now")), { startImmediately: true })
      const following = yield* Effect.forkChild(alone(Sessions.followUp("s", "then", { id: "two" })), {
        startImmediately: true
      })
      yield* accepted(store, 2)
      yield* gate.release
      assert.deepStrictEqual([yield* Fiber.join(steering), yield* Fiber.join(following)], [delivered(2), delivered(3)])
      assert.deepStrictEqual(yield* alone(Sessions.steer("s", "then", { id: "two" })), delivered(3))
    }))

  it.effect.each(["elsewhere", "here"])(
    "under an id, %s, is said once, and each sender is told",
    (where) =>
      Effect.gen(function*() {
        const { agent: away, gate, run, store, there } = yield* elsewhere()
        const agent = where === "here" ? there : away
        const say = (text: string) =>
          Effect.forkChild(agent.steer("s", text, { id: "one" }), { startImmediately: true })
        const first = yield* say("shorter")
        yield* accepted(store)
        // with another text, it is still the first one
        const again = yield* say("longer")
        yield* gate.release
        assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(again)], [delivered(2), delivered(2)])
        yield* run.result
        assert.deepStrictEqual(yield* agent.steer("s", "shorter", { id: "one" }), delivered(2))
        assert.strictEqual(reasonOf(yield* agent.steer("s", "shorter", { id: "two" })), "NotDelivered ended")
        const log = yield* store.log("s")
        assert.deepStrictEqual(Steering.queued(log), ["steer: shorter"])
        assert.deepStrictEqual(RunLog.only(log, "InputQueued").map(({ id }) => id), ["one"])
      })
  )

  it.effect("under an id, by several senders at once, is said once", () =>
    Effect.gen(function*() {
      const { agent, gate, run, store, there } = yield* elsewhere()
      const saying = [agent, there, agent].map((agent) => agent.followUp("s", "and then?", { id: "one" }))
      const all = yield* Effect.forkChild(Effect.all(saying, { concurrency: 3 }), { startImmediately: true })
      yield* accepted(store)
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(all), [delivered(2), delivered(2), delivered(2)])
      yield* run.result
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), ["followUp: and then?"])
    }))

  it.effect("under an id tells what became of it after its process had been shut down", () =>
    Effect.gen(function*() {
      const { agent, close, store } = yield* elsewhere()
      const told = yield* Effect.forkChild(agent.steer("s", "shorter", { id: "one" }), { startImmediately: true })
      yield* accepted(store)
      yield* close
      assert.strictEqual((yield* Fiber.join(told))._tag, "Kept")
      assert.strictEqual((yield* agent.steer("s", "shorter", { id: "one" }))._tag, "Kept")
      const later = yield* TestAgent.make([ScriptedModel.text("two")], { store })
      yield* later.agent.resumeRun({ sessionId: "s" })
      assert.deepStrictEqual(yield* agent.steer("s", "shorter", { id: "one" }), delivered(1))
    }))

  it.effect("under an id, is told of the end that gave it up, not of one that came later", () =>
    Effect.gen(function*() {
      const { agent, run, store } = yield* elsewhere()
      const told = yield* Effect.forkChild(agent.steer("s", "late", { id: "one" }), { startImmediately: true })
      yield* accepted(store)
      yield* run.abort
      assert.strictEqual(reasonOf(yield* Fiber.join(told)), "NotDelivered aborted")
      const later = yield* TestAgent.make([ScriptedModel.text("two")], { store })
      assert.strictEqual((yield* later.agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
      assert.strictEqual(reasonOf(yield* agent.steer("s", "late", { id: "one" })), "NotDelivered aborted")
    }))

  it.effect("under an id, in a process whose store passes nothing on, reaches a run that lives there, once", () =>
    Effect.gen(function*() {
      const { send: _, ...without } = (yield* TestStore.make()).service
      const store = TestStore.over(without)
      const { agent, gate, run } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")], {
        store
      })
      const steer = Effect.forkChild(agent.steer("s", "shorter", { id: "one" }), { startImmediately: true })
      const told = [yield* steer, yield* steer]
      yield* gate.release
      assert.deepStrictEqual(yield* Effect.forEach(told, Fiber.join), [delivered(2), delivered(2)])
      yield* run.result
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), ["steer: shorter"])
    }))

  it.effect("under an id, sent twice at once where the store passes nothing on and reads slowly, is said once", () =>
    Effect.gen(function*() {
      const { send: _, ...without } = (yield* TestStore.make()).service
      const [reading, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let reads = 0
      const slow = Effect.suspend(() => {
        if (++reads === 2) Deferred.doneUnsafe(reading, Exit.void)
        return Deferred.await(goOn)
      })
      const { agent, gate, run, store } = yield* Steering.held(
        [ScriptedModel.text("one")],
        [ScriptedModel.text("two")],
        {
          store: TestStore.over({
            ...without,
            // the reads that look for the id, in the log up to now
            read: (sessionId, range) =>
              range?.to === 2
                ? Stream.unwrap(Effect.as(slow, without.read(sessionId, range)))
                : without.read(sessionId, range)
          })
        }
      )
      const steer = Effect.forkChild(agent.steer("s", "shorter", { id: "one" }), { startImmediately: true })
      const told = [yield* steer, yield* steer]
      yield* Deferred.await(reading)
      yield* Deferred.succeed(goOn, undefined)
      yield* gate.release
      assert.deepStrictEqual(yield* Effect.forEach(told, Fiber.join), [delivered(2), delivered(2)])
      yield* run.result
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), ["steer: shorter"])
    }))

  it.effect("under an id, sent again where its run has been left meanwhile, is kept, and not to be sent anew", () =>
    Effect.gen(function*() {
      const { send: _, ...without } = (yield* TestStore.make()).service
      const [reading, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let reads = 0
      const second = Effect.suspend(() =>
        ++reads === 1 ? Effect.void : Effect.andThen(Deferred.succeed(reading, undefined), Deferred.await(goOn))
      )
      const { agent, close } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")], {
        store: TestStore.over({
          ...without,
          // the reads that look for the id, in the log as it was before the first of them was accepted
          read: (sessionId, range) =>
            range?.to === undefined || range.to === 1
              ? without.read(sessionId, range)
              : Stream.unwrap(Effect.as(second, without.read(sessionId, { ...range, to: 2 })))
        })
      })
      const steer = Effect.forkChild(agent.steer("s", "shorter", { id: "one" }), { startImmediately: true })
      const told = [yield* steer, yield* steer]
      yield* Deferred.await(reading)
      yield* close
      yield* Deferred.succeed(goOn, undefined)
      assert.deepStrictEqual((yield* Effect.forEach(told, Fiber.join)).map(({ _tag }) => _tag), ["Kept", "Kept"])
    }))

  it.effect("under the id of the run is the message that it began with", () =>
    Effect.gen(function*() {
      const { agent, gate, run, store } = yield* elsewhere()
      assert.deepStrictEqual(yield* agent.steer("s", "go", { id: "r" }), delivered(1))
      yield* gate.release
      yield* run.result
      assert.deepStrictEqual(yield* agent.steer("s", "go", { id: "r" }), delivered(1))
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), [])
    }))

  it.effect("goes straight to a run that lives here", () =>
    Effect.gen(function*() {
      const { gate, store, there } = yield* elsewhere()
      const told = yield* say(there, "steer", "shorter")
      const [queued] = RunLog.only(yield* store.log("s"), "InputQueued")
      assert.isFalse("id" in queued!)
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(told), delivered(2))
    }))

  it.effect("is not delivered, and not stored, where the run is over, waits for people, or nobody drives it", () =>
    Effect.gen(function*() {
      const over = yield* elsewhere()
      yield* over.gate.release
      yield* over.run.result
      assert.strictEqual(reasonOf(yield* over.agent.steer("s", "late")), "NotDelivered ended")

      const asking = yield* Approvals.make([[ScriptedModel.call("work", { n: 1 })]])
      yield* asking.agent.run({ sessionId: "s", input: "go" })
      const { agent } = yield* TestAgent.make([], { store: asking.store })
      assert.strictEqual(reasonOf(yield* agent.steer("s", "late")), "NotDelivered suspended")

      const { appends } = (yield* elsewhere()).store
      const store = yield* Steering.left(appends)
      const dead = yield* TestAgent.make([], { store })
      const told = yield* dead.agent.steer("s", "late")
      assert.strictEqual(reasonOf(told), "NotDelivered left")
      assert.include("explain" in told ? told.explain : "", "no process drives the run now")
      for (const { log } of [over.store, asking.store, store]) {
        assert.deepStrictEqual(Steering.queued(yield* log("s")), [])
      }
    }))

  it.effect("is not delivered where the run ends before its process hears of it", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* elsewhere()
      const deaf = deafening(store, () => true)
      const { agent } = yield* TestAgent.make([], { store: deaf.store })
      const steering = yield* Effect.forkChild(agent.steer("s", "late"), { startImmediately: true })
      yield* deaf.sent
      yield* gate.release
      yield* run.result
      assert.strictEqual(reasonOf(yield* Fiber.join(steering)), "NotDelivered completed")
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), [])
    }))

  it.effect("is not delivered where the run ends before a turn begins with it", () =>
    Effect.gen(function*() {
      const { agent, run } = yield* elsewhere()
      const told = yield* say(agent, "steer", "late")
      yield* run.abort
      assert.strictEqual(reasonOf(yield* Fiber.join(told)), "NotDelivered aborted")
    }))

  it.effect("is kept where the process is shut down first, and said once by whoever goes on", () =>
    Effect.gen(function*() {
      const { agent, close, store } = yield* elsewhere()
      const told = yield* say(agent, "steer", "shorter")
      yield* close
      const kept = yield* Fiber.join(told)
      assert.strictEqual(kept._tag, "Kept")
      assert.include("explain" in kept ? kept.explain : "", "The process shut down")
      const later = yield* TestAgent.make([ScriptedModel.text("two")], { store })
      yield* later.agent.resumeRun({ sessionId: "s" })
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: shorter"])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("is kept where the store fails first", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* Steering.held([ScriptedModel.call("work", { n: 1 })], [])
      const { agent } = yield* TestAgent.make([], { store })
      const told = yield* say(agent, "steer", "shorter")
      store.onAppend = TestStore.failingOnce()
      yield* gate.release
      yield* Effect.exit(run.result)
      const kept = yield* Fiber.join(told)
      assert.include("explain" in kept ? kept.explain : "", "The store did not answer")
    }))

  it.effect("is kept where the process dies first", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* elsewhere()
      const told = yield* say(agent, "steer", "shorter")
      const dead = ofDead(store)
      const later = yield* TestAgent.make([ScriptedModel.text("two")], { store: dead })
      assert.strictEqual((yield* later.agent.resumeRun({ sessionId: "s" })).text, "two")
      assert.strictEqual((yield* Fiber.join(told))._tag, "Kept")
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: shorter"])
    }))

  it.effect("is sent again to whoever goes on with the run, where its process died before it heard of it", () =>
    Effect.gen(function*() {
      const { hear, steering, store } = yield* unheard
      const dead = ofDead(store)
      const gate = yield* ScriptedModel.makeGate
      const later = yield* TestAgent.make([
        [ScriptedModel.text("two"), ScriptedModel.gate(gate)],
        ScriptedModel.text("three")
      ], { store: dead })
      const run = yield* later.agent.resumeStart({ sessionId: "s" })
      yield* gate.started
      hear()
      yield* TestClock.adjust("5 seconds")
      yield* gate.release
      assert.strictEqual((yield* Fiber.join(steering))._tag, "Delivered")
      yield* run.result
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: shorter"])
    }))

  it.effect("is not delivered where its process died before it heard of it, and the session went on with another run", () =>
    Effect.gen(function*() {
      const { hear, steering, store } = yield* unheard
      const dead = ofDead(store)
      hear()
      const gate = yield* ScriptedModel.makeGate
      const later = yield* TestAgent.make([[ScriptedModel.text("two"), ScriptedModel.gate(gate)]], { store: dead })
      const run = yield* later.agent.start({ sessionId: "s", runId: "next", input: "next" })
      yield* gate.started
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(reasonOf(yield* Fiber.join(steering)), "NotDelivered ended")
      yield* gate.release
      yield* run.result
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), [])
    }))

  it.effect("is accepted once, however often a drive hears of it, and not again by a later drive", () =>
    Effect.gen(function*() {
      const { close, gate, store } = yield* elsewhere()
      const sent: SessionStore.SentInput = {
        _tag: "Input",
        id: "i",
        after: 2,
        kind: "steer",
        messages: [Message.user("shorter")]
      }
      const send = store.service.send!("s", "r", sent)
      for (const _ of [1, 2]) assert.isTrue(yield* send)
      yield* accepted(store)
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), ["steer: shorter"])
      yield* close
      const again = yield* ScriptedModel.makeGate
      const later = yield* TestAgent.make([
        [ScriptedModel.text("two"), ScriptedModel.gate(again)],
        ScriptedModel.text("three")
      ], { store })
      const run = yield* later.agent.resumeStart({ sessionId: "s" })
      yield* again.started
      assert.isTrue(yield* send)
      yield* again.release
      yield* run.result
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), ["steer: shorter"])
      yield* gate.release
    }))

  it.effect("is heard by a drive that could not read its log at first, once it is sent again", () =>
    Effect.gen(function*() {
      let isDown = false
      const refused = yield* Deferred.make<void>()
      const refuse = Stream.unwrap(
        Effect.as(Deferred.succeed(refused, undefined), Stream.fail(TestStore.unavailable))
      )
      const base = yield* TestStore.make()
      const store = replaced(base, {
        read: (...range) => isDown ? refuse : base.service.read(...range)
      })
      const { gate, run } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")], { store })
      const { agent } = yield* TestAgent.make([], { store: base })
      isDown = true
      const steering = yield* Effect.forkChild(agent.steer("s", "shorter"), { startImmediately: true })
      yield* Deferred.await(refused)
      assert.deepStrictEqual(Steering.queued(yield* base.log("s")), [])
      isDown = false
      yield* TestClock.adjust("5 seconds")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(steering), delivered(2))
      yield* run.result
    }))

  it.effect("is stored once where a write of it fails, the run takes long to end, and it is sent again meanwhile", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const begun = yield* Deferred.make<void>()
      // holds up the end of its run for as long as that waits for it
      const tool = () => Effect.uninterruptible(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const there = yield* TestAgent.make([TestAgent.work(1)], { store, tool })
      const run = yield* there.agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(begun)
      store.onAppend = TestStore.failing((n) => n === store.appends.length + 1)
      const { agent } = yield* TestAgent.make([ScriptedModel.text("two")], { store })
      const steering = yield* Effect.forkChild(agent.steer("s", "shorter"), { startImmediately: true })
      yield* TestClock.adjust("30 seconds")
      yield* Effect.exit(run.result)
      assert.strictEqual(reasonOf(yield* Fiber.join(steering)), "NotDelivered failed")
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), ["steer: shorter"])
      yield* agent.run({ sessionId: "s", input: "next" })
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), [])
    }))

  it.effect("is stored after what was sent before it, however long the log takes to be read", () =>
    Effect.gen(function*() {
      const base = yield* TestStore.make()
      const reading = yield* Deferred.make<void>()
      let reads = 0
      const store = replaced(base, {
        read: (...range) => {
          const events = base.service.read(...range)
          return ++reads > 1 ? events : Stream.unwrap(Effect.as(Deferred.await(reading), events))
        }
      })
      const { gate } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")], { store })
      const steering = yield* Effect.forEach(["a", "b"], (text) =>
        Effect.gen(function*() {
          const passing = TestStore.sending(base)
          const { agent } = yield* TestAgent.make([], { store: passing.store })
          const told = yield* Effect.forkChild(agent.steer("s", text), { startImmediately: true })
          yield* passing.sent
          return told
        }))
      yield* Deferred.succeed(reading, undefined)
      yield* accepted(base, 2)
      yield* gate.release
      for (const fiber of steering) assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(2))
      assert.deepStrictEqual(Steering.received(yield* base.log("s")), ["steer: a", "steer: b"])
    }))

  it.effect("is not held up by an answer whose check takes long", () =>
    Effect.gen(function*() {
      const { service } = yield* TestStore.make()
      yield* Effect.scoped(
        service.open("s", { runId: "r", create: true }).pipe(
          Effect.flatMap((session) => session.append([started({ seq: 1 })]))
        )
      )
      const accepted: Array<string | undefined> = []
      const hearing = new Hearing.Hearing(service, {
        sessionId: "s",
        begun: Effect.void,
        decide: () => Effect.never,
        accept: ({ id }) =>
          Effect.sync(() => {
            accepted.push(id)
            return Effect.succeed(delivered(1))
          })
      })
      const decision = { sessionId: "s", approvalId: "r/1.0", approved: true }
      yield* Effect.forkChild(hearing.hear({ _tag: "Answer", id: "a", after: 1, decision }), { startImmediately: true })
      yield* hearing.hear({ _tag: "Input", id: "b", after: 1, kind: "steer", messages: [Message.user("shorter")] })
      assert.deepStrictEqual(accepted, ["b"])
    }))

  it.effect("is refused while it is not known that nobody has it, and nothing of it is accepted after that", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* elsewhere()
      let isDead = false
      const isTaken = replaced(store, {
        open: (sessionId, options) => store.service.open(sessionId, { ...options, takeOver: isDead })
      })
      // it was told, and hears of that later
      const frozen = TestStore.sending(isTaken, () => Effect.succeed(!isDead))
      const { agent } = yield* TestAgent.make([], { store: frozen.store })
      const steering = yield* Effect.forkChild(agent.steer("s", "shorter"), { startImmediately: true })
      yield* frozen.sent
      isDead = true
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(reasonOf(yield* Fiber.join(steering)), "NotDelivered left")
      const late = yield* Effect.exit(run.steer("from before"))
      assert.isTrue(Exit.isFailure(late))
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), [])
      yield* gate.release
    }))

  it.effect("is SessionBusy where whoever has the session cannot be told", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* elsewhere()
      const { send: _, ...without } = store.service
      const other = yield* TestAgent.make([], { store: TestStore.over(without) })
      const unable = yield* Effect.forkChild(Effect.flip(other.agent.steer("s", "shorter")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(unable)).reason._tag, "SessionBusy")

      const scope = yield* Scope.make()
      yield* Scope.provide(store.service.open("s", { runId: "r", create: false, takeOver: true }), scope)
      const deaf = yield* Effect.forkChild(Effect.flip(agent.steer("s", "shorter")))
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(deaf)
      assert.strictEqual(error.reason._tag, "SessionBusy")
      assert.include(error.message, "cannot be sent a message")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(reasonOf(yield* other.agent.steer("s", "shorter")), "NotDelivered left")
    }))

  it.effect("is sent again for as long as whoever has the session hears of it now and then", () =>
    Effect.gen(function*() {
      const { gate, store } = yield* elsewhere()
      const busy = yield* Effect.flip(Effect.scoped(store.service.open("s", { runId: "other", create: false })))
      const answers = [Effect.fail(busy), Effect.succeed(true), Effect.fail(busy)]
      const { agent } = yield* TestAgent.make([], {
        store: replaced(store, { send: (...sent) => answers.shift() ?? store.service.send!(...sent) })
      })
      const steering = yield* Effect.forkChild(agent.steer("s", "shorter"), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(steering), delivered(2))
    }))

  it.effect("fails where the session is unknown, or the message is no message", () =>
    Effect.gen(function*() {
      const { agent } = yield* elsewhere()
      assert.strictEqual((yield* Effect.flip(agent.steer("t", "x"))).reason._tag, "SessionNotFound")
      assert.strictEqual((yield* Effect.flip(agent.steer("s", ""))).reason._tag, "InvalidInput")
      assert.strictEqual((yield* Effect.flip(agent.steer("", "x"))).reason._tag, "InvalidInput")
      assert.deepInclude((yield* Effect.flip(agent.steer("s", "x", { id: " " }))).reason, { field: "id" })
      assert.strictEqual((yield* Effect.flip(agent.queue("s", "x" as never, "steer"))).reason._tag, "InvalidInput")
      const tooLarge = yield* Effect.flip(agent.steer("s", "x".repeat(17 * 1024 * 1024)))
      assert.strictEqual(tooLarge.reason._tag, "EventTooLarge")
    }))
})
