/**
 * What a reader of events has of the answer under way, as JSON that grows. The cost of an answer is linear in its
 * length, however it is cut and nested: when much would have to be copied, it is shown in bigger steps.
 *
 * Does not own the JSON (`JsonTree`), nor whether the answer fits a schema.
 */
import type * as Schema from "effect/Schema"
import * as Message from "../Message.ts"
import * as RunEvent from "../RunEvent.ts"
import * as Envelope from "./Envelope.ts"
import { Unfencing } from "./Fence.ts"
import { JsonLexer } from "./JsonLexer.ts"
import { JsonTree } from "./JsonTree.ts"

type Values = ReadonlyArray<Schema.Json>

const none: Values = []

/** This many things may be copied for each value that is shown. */
const copies = 256
/** Beyond these, this many for each character that came since the value before. */
const copiesPerCharacter = 4

export class PartialReading {
  #text: Text
  /** the delta that was read last, and the index of the next one */
  #last: RunEvent.Delta | undefined
  #next = 0
  readonly #envelope: Envelope.Envelope | undefined

  /** `envelope`: the object that may hold the answer */
  constructor(envelope: Envelope.Envelope | undefined) {
    this.#envelope = envelope
    this.#text = new Text(envelope)
  }

  /** The answer after this event, if the event changed it. */
  read(event: RunEvent.RunEvent): Values {
    if (RunEvent.isDelta(event)) return this.#delta(event)
    return event._tag === "AssistantMessage" ? this.#settled(Message.textOf(event.message.content)) : none
  }

  #delta(event: RunEvent.Delta): Values {
    if (event.index === 0) this.#text = new Text(this.#envelope)
    // after a gap, the settled message gives the rest
    else if (event.index !== this.#next || !isOfOneAttempt(event, this.#last)) return none
    this.#last = event
    this.#next = event.index + (event.count ?? 1)
    return event._tag === "TextDelta" ? this.#text.push(event.delta) : none
  }

  #settled(whole: string): Values {
    // blocks that came interleaved are one after the other in the message
    const text = whole.startsWith(this.#text.seen) ? this.#text : new Text(this.#envelope)
    this.#text = new Text(this.#envelope)
    this.#last = undefined
    return text.end(whole)
  }
}

/** The text of one attempt. */
class Text {
  seen = ""
  readonly #unfencing = new Unfencing()
  readonly #tree = new JsonTree()
  readonly #lexer = new JsonLexer(this.#tree)
  /** characters that came since a value was last shown */
  #fresh = 0
  readonly #envelope: Envelope.Envelope | undefined

  constructor(envelope: Envelope.Envelope | undefined) {
    this.#envelope = envelope
  }

  push(piece: string): Values {
    this.#read(piece)
    return this.#fresh * copiesPerCharacter >= this.#tree.cost - copies ? this.#value() : none
  }

  end(whole: string): Values {
    this.#read(whole.slice(this.seen.length))
    // what a limit cut inside a list or an object may be half a number
    if (this.#tree.isBare) this.#lexer.end()
    if (!this.#lexer.isBroken) this.#tree.end()
    return this.#value()
  }

  #read(piece: string): void {
    this.seen += piece
    this.#fresh += piece.length
    this.#lexer.push(this.#unfencing.push(piece))
  }

  #value(): Values {
    if (!this.#tree.isChanged) return none
    const json = this.#tree.take()!
    if (!this.#tree.isBare && Envelope.isUndecided(this.#envelope, json)) {
      // shown once that is decided
      this.#tree.isChanged = true
      return none
    }
    this.#fresh = 0
    return [Envelope.readingsOf(this.#envelope, json)[0]]
  }
}

const isOfOneAttempt = (one: RunEvent.Delta, other: RunEvent.Delta | undefined): boolean =>
  one.attempt === other?.attempt && one.turn === other.turn && one.runId === other.runId
