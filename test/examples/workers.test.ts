/** examples/workers.ts in its own processes, over one Postgres: one dies, another continues. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { data, delta, done, events, finish, make, open } from "../support/OpenAiServer.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as Example from "./Example.ts"

const says = (content: string) => events(data(delta({ content }), finish("stop")), done)

it.live(
  "what a dead process left behind continues in another, and what is alive is left alone",
  () =>
    Effect.gen(function*() {
      const DATABASE_URL = yield* PgDatabases.database
      const dying = yield* make(open(data(delta({ content: "Once" }))))
      const living = yield* make(open(data(delta({ content: "Once" }))))
      const model = yield* make(says("The end."))
      const start = (to: typeof model, ...args: ReadonlyArray<string>) =>
        Example.start({ name: "workers.ts", args, model: to, env: { DATABASE_URL } })

      const life = yield* Scope.make()
      yield* Scope.provide(start(dying, "ask", "1", "A story."), life)
      yield* start(living, "ask", "2", "A story.")
      yield* Deferred.await(dying.received)
      yield* Deferred.await(living.received)
      yield* Scope.close(life, Exit.void)

      const recovery = yield* Effect.flatMap(start(model, "recover"), (_) => _.result)
      assert.deepStrictEqual(recovery, {
        code: 0,
        out: "worker-1: The model finished its answer, after 1 turn and 0 tool calls.\n"
      })
      assert.strictEqual(model.requests.length, 1)
      assert.strictEqual(living.requests.length, 1)
    }),
  120_000
)
