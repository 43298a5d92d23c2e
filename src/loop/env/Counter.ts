/**
 * Counts what a drive sends, in tokens; what was counted once is not counted again, and tools not by other drives either.
 *
 * Does not own what a request takes in all (`Sizing`).
 */
import { memoize } from "effect/Function"
import * as MessageTokens from "../../run/MessageTokens.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import type { Tokenizer } from "../../services/Tokenizer.ts"
import * as ToldSchema from "../../services/ToldSchema.ts"
import type * as Env from "./Env.ts"

export class Counter {
  readonly ofText: (text: string) => number
  readonly #tokenizer: Tokenizer
  #tokens: MessageTokens.MessageTokens | undefined
  #last: Transcript.Total | undefined
  #sized: { readonly env: Env.Env; readonly size: ContextManager.Size } | undefined

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer
    this.ofText = (text) => tokenizer.count(text)
  }

  /** Made with the first count: where no context window is known, nothing is counted. */
  get tokens(): MessageTokens.MessageTokens {
    return this.#tokens ??= MessageTokens.make(this.ofText)
  }

  /** of the messages of a conversation */
  transcript(transcript: Transcript.Transcript): number {
    this.#last = Transcript.total(transcript, this.tokens.message, this.#last)
    return this.#last.sum
  }

  tools(tools: Model.Tools): number {
    const count = ofTool(this.#tokenizer)
    return tools.reduce((sum, tool) => sum + count(tool), 0)
  }

  /** what `make` returns for an environment; called once as long as that stays the same */
  sizeIn(env: Env.Env, make: (env: Env.Env) => ContextManager.Size): ContextManager.Size {
    if (this.#sized?.env !== env) this.#sized = { env, size: make(env) }
    return this.#sized.size
  }
}

/** What a tokenizer counts for a tool, as a model is told of it: agents keep their tools for all runs. */
const ofTool = memoize((tokenizer: Tokenizer) => {
  const { tool } = MessageTokens.make((text) => tokenizer.count(text))
  return memoize((offered: Model.Tools[number]): number => {
    const { description = "", name } = offered
    return tool({ name, description, schema: ToldSchema.ofTool(offered) })
  })
})
