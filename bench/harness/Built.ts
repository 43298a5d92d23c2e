/**
 * fiberloop as it is installed, which is how every peer is measured: imports of its sources by adapters resolve to the built
 * modules. Does not own how it is built.
 */
import { execFileSync } from "node:child_process"
import { registerHooks } from "node:module"
import { join, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = join(import.meta.dirname, "../..")
const sources = join(root, "src") + sep
const folder = join(root, "dist") + sep

/** Throws when it cannot be built; the reason is on standard error. */
export const build = (): void => {
  execFileSync(process.execPath, [join(root, "scripts/build.mjs")], { stdio: ["ignore", 2, 2] })
}

/** The built module of a source; `undefined` for a path that is not a source. */
export const moduleOf = (path: string): string | undefined =>
  path.startsWith(sources) ? path.replace(sources, folder).replace(/\.ts$/, ".js") : undefined

/** Makes this process import the built modules from now on. */
export const use = (): void => {
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = specifier.startsWith(".") ? new URL(specifier, context.parentURL).href : specifier
      const built = url.startsWith("file:") ? moduleOf(fileURLToPath(url)) : undefined
      return next(built === undefined ? specifier : pathToFileURL(built).href, context)
    }
  })
}
