/**
 * Modules with everything they import, as a few files of plain JavaScript: a process loads those in a quarter of the
 * time it takes for hundreds of TypeScript files. What is loaded from here has an `effect` of its own.
 */
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { rolldown } from "rolldown"
import { temporaryFolder } from "./Processes.ts"

/** Returns where each module is now. The files are removed with the scope. */
export const make = Effect.fnUntraced(function*<Name extends string>(modules: Readonly<Record<Name, URL>>) {
  const folder = yield* temporaryFolder
  const names = Object.keys(modules) as Array<Name>
  const input = Object.fromEntries(names.map((name) => [name, fileURLToPath(modules[name])]))
  yield* Effect.promise(async () => {
    // pg asks for a native build that is not installed
    const bundle = await rolldown({ input, platform: "node", external: ["pg-native"], logLevel: "silent" })
    await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" })
    await bundle.close()
  })
  const at = (name: Name) => pathToFileURL(join(folder, `${name}.js`))
  return Object.fromEntries(names.map((name) => [name, at(name)])) as Readonly<Record<Name, URL>>
})
