/** A context that shrinks whenever asked: each compaction leaves out the oldest message. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Usage from "../../src/run/Usage.ts"
import { type Compaction, ContextManager, type Request } from "../../src/services/ContextManager.ts"

/** This many messages can be left out of a session that begins with this history. */
export const history = (messages: number): NonNullable<RunInput.RunInput["history"]> =>
  Array.from({ length: messages }, (_, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content: `earlier ${i}` }))

export const oldest = ({ transcript }: Request): Compaction => {
  const [, ...left] = Transcript.entries(transcript)
  return {
    strategy: "test",
    upTo: Math.max(0, ...left.map(({ seq }) => seq)),
    replacement: left.map(({ message }) => message),
    usage: Usage.zero
  }
}

/** Compacts when forced to; `extra` is added to each compaction. */
export const layer = (extra: Partial<Compaction> = {}): Layer.Layer<ContextManager> =>
  Layer.succeed(ContextManager, {
    plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
    compact: (request) => Effect.succeed({ ...oldest(request), ...extra })
  })
