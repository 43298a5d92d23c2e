/**
 * Owns the read-only file tools of the command as one toolkit, confined to a root folder: what is outside cannot be read, not
 * even through symbolic links or by swapping paths meanwhile.
 * Does not own their settings, which are References beside the code that reads them.
 */
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ListFiles from "./ListFiles.ts"
import * as ReadFile from "./ReadFile.ts"
import * as Root from "./Root.ts"
import * as SearchText from "./SearchText.ts"

/** `list_files`, `read_file` and `search_text`; their failures go to the model as data. */
export const toolkit = Toolkit.make(ListFiles.tool, ReadFile.tool, SearchText.tool)

/** The handlers, for files below `root`; fails when that is not a usable folder. */
export const layer = (
  root: string
): Layer.Layer<Tool.HandlersFor<Toolkit.Tools<typeof toolkit>>, Root.RootError> =>
  toolkit.toLayer(Effect.map(Root.make(root), (root) =>
    toolkit.of({
      list_files: ListFiles.handler(root),
      read_file: ReadFile.handler(root),
      search_text: SearchText.handler(root)
    })))
