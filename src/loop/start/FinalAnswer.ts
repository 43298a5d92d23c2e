/**
 * The final answer of an agent that has a schema for it: how it is asked for, what is wrong with one, and what it says.
 *
 * Does not own what follows from one that is wrong (`RunDecision`).
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Bounds from "../../run/log/Bounds.ts"
import * as Envelope from "../../run/partial/Envelope.ts"
import { unfenced } from "../../run/partial/Fence.ts"
import type * as Definition from "../env/Definition.ts"

type Output = Definition.Output

/** What an agent's definition keeps of the schema. */
export const make = <A>(schema: Schema.ConstraintCodec<A, unknown, never, never>): Output => {
  const answer = Schema.toCodecJson(schema)
  const envelope = Envelope.of(schema)
  const codec = Envelope.around(envelope, answer)
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(codec)
  const decode = Schema.decodeUnknownSync(answer)
  const fitting = Schema.decodeUnknownOption(answer)
  return {
    codec,
    schema: JSON.stringify(Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }),
    decode: (text) => {
      const json = parse(unfenced(text))
      const [first, other] = Envelope.readingsOf(envelope, json)
      // what is wrong is said of the form that was asked for
      return fitting(first).pipe(
        Option.orElse(() => fitting(other)),
        Option.getOrElse(() => decode(Envelope.contentOf(envelope, json)))
      )
    }
  }
}

const parse = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** The instructions, followed by how the final answer is to be given; empty where there is nothing to say. */
export const systemText = (instructions: string, output: Output | undefined): string => {
  if (output === undefined) return instructions.trim() === "" ? "" : instructions
  const asked = `Give your final answer as JSON that fits this schema, and nothing else:\n${output.schema}`
  return instructions.trim() === "" ? asked : `${instructions}\n\n${asked}`
}

/** What is wrong with an answer, in words for the model; `undefined` where nothing is. */
export const problem = (output: Output, text: string): string | undefined => {
  try {
    output.decode(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? Bounds.message(error.message) : "it could not be read"
  }
}
