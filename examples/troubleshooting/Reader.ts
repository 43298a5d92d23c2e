/**
 * What the four symptoms share: agents that read the pages of a book, over a scripted model instead of a real one, and a file
 * that keeps their sessions for the commands of docs/troubleshooting.md.
 */
import { Console, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, RunResult, SessionStoreSqlite } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"

export const Book = Toolkit.make(
  Tool.make("read_page", {
    description: "A page of the book",
    parameters: Schema.Struct({ page: Schema.Int }),
    success: Schema.String
  }).annotate(Tool.Readonly, true)
)

export const readPage = (page: number) => ScriptedModel.call("read_page", { page })

export interface Symptom {
  /** the agent's name, and the session's id */
  readonly name: string
  readonly model: ScriptedModel.Turns
  /** sent in one session, one after the other */
  readonly inputs?: ReadonlyArray<string>
  readonly page?: (page: number) => string
  /** instead of `Fiberloop.layer` */
  readonly services?: typeof Fiberloop.layer
  readonly agent?: Partial<Agent.Options<typeof Book.tools, string>>
}

/** Runs an agent and prints how each of its runs ended; `db` is the file that keeps the session. */
export const show = (db: string, { name, ...symptom }: Symptom) =>
  Effect.gen(function*() {
    const options = { instructions: "Answer from the book.", toolkit: Book, ...symptom.agent }
    const reader = yield* Agent.make({ name, ...options })
    for (const input of symptom.inputs ?? ["What is the book about?"]) {
      const ended = yield* Effect.match(reader.run({ sessionId: name, input }), {
        onSuccess: RunResult.explain,
        onFailure: RunResult.explain
      })
      yield* Console.log(`${name}: ${ended}`)
    }
  }).pipe(Effect.provide(Layer.mergeAll(
    symptom.services ?? Fiberloop.layer,
    Book.toLayer({ read_page: ({ page }) => Effect.succeed(symptom.page?.(page) ?? `This is page ${page}.`) }),
    SessionStoreSqlite.layer({ filename: db }),
    ScriptedModel.layer(symptom.model)
  )))
