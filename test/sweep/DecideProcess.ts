/**
 * A process that answers questions about payments: a line `<session> yes` or `<session> no` on standard input, and on
 * standard output what became of it, `won` or the reason of the refusal.
 */
import * as Effect from "effect/Effect"
import { createInterface } from "node:readline"
import { layer, Payer } from "./Payer.ts"

const [folder = "", by = ""] = process.argv.slice(2)

const answer = (sessionId: string, word: string) =>
  Payer.use((payer) => payer.decide({ sessionId, approvalId: `${sessionId}/1.0`, approved: word === "yes", by })).pipe(
    Effect.match({
      onFailure: ({ reason }) => reason._tag === "ApprovalNotOpen" ? reason.because : reason._tag,
      onSuccess: () => "won"
    })
  )

const work = Effect.gen(function*() {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  process.stdout.write("ready\n")
  while (true) {
    const line = yield* Effect.promise(() => lines.next())
    if (line.done === true) return
    const [sessionId = "", word = ""] = line.value.split(" ")
    process.stdout.write(`${yield* answer(sessionId, word)}\n`)
  }
})

await Effect.runPromise(Effect.provide(work, layer(folder)))
