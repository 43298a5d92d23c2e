/**
 * Owns the command's tools that change something, as one toolkit. Files that the tools write are below a root folder, even
 * when paths are swapped meanwhile; a command is only started there, and can do whatever its user can.
 *
 * Does not own asking first: the tools declare that they are destructive, and the loop asks.
 */
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import * as RunCommand from "./command/RunCommand.ts"
import * as Root from "./files/Root.ts"
import * as EditFile from "./write/EditFile.ts"
import type * as ShownFiles from "./write/ShownFiles.ts"
import * as WriteFile from "./write/WriteFile.ts"

/** `write_file`, `edit_file` and `run_command`; their failures go to the model as data. */
export const toolkit = Toolkit.make(WriteFile.tool, EditFile.tool, RunCommand.tool)

/**
 * The handlers, for the folder `root`; fails when that is not a usable folder. Files are changed one at a time, and only while
 * they are what a person was shown for the call.
 */
export const layer = (
  root: string,
  shown: ShownFiles.ShownFiles
): Layer.Layer<Tool.HandlersFor<Toolkit.Tools<typeof toolkit>>, Root.RootError> =>
  toolkit.toLayer(Effect.gen(function*() {
    const folder = yield* Root.make(root)
    const turn = yield* Semaphore.make(1)
    const [write, edit] = [WriteFile.handler(folder, shown), EditFile.handler(folder, shown)]
    return toolkit.of({
      write_file: (params) => turn.withPermit(write(params)),
      edit_file: (params) => turn.withPermit(edit(params)),
      run_command: RunCommand.handler(folder)
    })
  }))
