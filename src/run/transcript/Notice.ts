/** What the runtime says in the user's place when a model would otherwise have nothing to answer. */
import * as Message from "../Message.ts"

/**
 * Where a model is to answer, and the last message is an answer that it does not go on with itself. It gets into the log before a turn
 * (`TurnStart`); into what another model than a paused one's is sent (`Transcript.prompt`) and, once that has answered, into the transcript
 * (`Building.tellToGoOn`); and after what a hook made of the messages (`Rewrite`).
 */
export const goOn = "Go on."

/** The same as a message. */
export const goOnMessage: Message.UserMessage = Message.user(goOn)

/** Before a conversation that begins with an answer because what came before it was left out. */
export const earlier = "(The conversation began earlier.)"

/** After an answer that was cut off in its middle, before what was said next. */
export const cutOff = "(Your answer was cut off here.)"

/** The same as a message. */
export const cutOffMessage: Message.UserMessage = Message.user(cutOff)

/** Whether the runtime said it, and no person. */
export const is = (text: string): boolean => text === goOn || text === earlier || text === cutOff
