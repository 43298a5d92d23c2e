/**
 * Modules with all that they import, as a few files of plain JavaScript: a process loads those in a quarter of the time that it
 * takes for the hundreds of files of TypeScript. What is loaded of it here has an `effect` of its own.
 */
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { rolldown } from "rolldown"
import { temporaryFolder } from "./Processes.ts"

/** Gives where each module is now. The files go with the scope. */
export const make = Effect.fnUntraced(function*<Name extends string>(modules: Readonly<Record<Name, URL>>) {
  const folder = yield* temporaryFolder
  const names = Object.keys(modules) as Array<Name>
  const input = Object.fromEntries(names.map((name) => [name, fileURLToPath(modules[name])]))
  yield* Effect.promise(async () => {
    // pg asks for a build of itself that is not installed
    const bundle = await rolldown({ input, platform: "node", external: ["pg-native"], logLevel: "silent" })
    await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" })
    await bundle.close()
  })
  const at = (name: Name) => pathToFileURL(join(folder, `${name}.js`))
  return Object.fromEntries(names.map((name) => [name, at(name)])) as Readonly<Record<Name, URL>>
})
