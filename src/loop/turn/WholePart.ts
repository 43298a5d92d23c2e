/**
 * A part of an answer that comes whole, as the log holds it: the members that its type has, each of its type, whatever a model that is
 * not type-checked sends.
 *
 * Does not own what JSON cannot say (`Legality`), nor that an answer with a part that is none is refused (`Showing`).
 */
import type * as Message from "../../run/Message.ts"
import type * as Model from "../../services/Model.ts"

type Given = Extract<Model.ModelPart, { type: "tool-call" | "tool-result" | "file" }>

/** The part, or what is wrong with one that cannot do without a text that it lacks, to follow the words "the answer has". */
export const read = (given: Given): Message.AssistantPart | string => {
  switch (given.type) {
    case "tool-call": {
      const { name, params, providerExecuted, type } = given
      if (!isText(name)) return "a tool call without a name"
      const call = { type, id: idOf(given), name, params }
      return annotated(providerExecuted === true ? { ...call, providerExecuted } : call, given)
    }
    case "tool-result": {
      const { isFailure, name, result, type } = given
      if (!isText(name)) return "a tool result without a name"
      const settled = { type, id: idOf(given), name, result, isFailure: isFailure === true, providerExecuted: true }
      return annotated(settled, given)
    }
    case "file": {
      const { data, mediaType, type } = given
      if (!isText(mediaType) || !isText(data)) return "a file whose mediaType or data is not a string"
      return annotated({ type, mediaType, data }, given)
    }
  }
}

const isText = (given: unknown): given is string => typeof given === "string"

/** Calls are sent under ids of our own: what is no text says nothing. */
const idOf = ({ id }: { readonly id: unknown }): string => isText(id) ? id : ""

const annotated = <P extends Message.AssistantPart>(part: P, { metadata }: Given): P =>
  typeof metadata === "object" && metadata !== null && !Array.isArray(metadata) ? { ...part, metadata } : part
