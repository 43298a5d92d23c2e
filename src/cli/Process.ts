/** Runs the command in this process and ends it. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { program } from "./Program.ts"
import { codes } from "./Refusal.ts"
import * as Output from "./terminal/Output.ts"
import * as ProcessInput from "./terminal/ProcessInput.ts"
import * as Signals from "./terminal/Signals.ts"

const layer = Layer.provideMerge(Layer.mergeAll(ProcessInput.layer, Signals.layer), Output.layer)

/** Everything that was written has left the process before it ends. */
export const main = (args: ReadonlyArray<string>, version: string): void => {
  const fiber = Effect.runFork(program(args, version).pipe(Effect.provide(layer)))
  fiber.addObserver((exit) => process.exit(Exit.isSuccess(exit) ? exit.value : codes.failed))
}
