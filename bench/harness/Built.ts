/**
 * fiberloop as it is installed, which is how every peer is measured: what adapters import of its sources leads to what was
 * built of them. Does not say how it is built.
 */
import { execFileSync } from "node:child_process"
import { registerHooks } from "node:module"
import { join, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = join(import.meta.dirname, "../..")
const sources = join(root, "src") + sep
const folder = join(root, "dist") + sep

/** Throws where it cannot be built; why is on standard error. */
export const build = (): void => {
  execFileSync(process.execPath, [join(root, "scripts/build.mjs")], { stdio: ["ignore", 2, 2] })
}

/** The module that was built of a source; `undefined` for what is none. */
export const moduleOf = (path: string): string | undefined =>
  path.startsWith(sources) ? path.replace(sources, folder).replace(/\.ts$/, ".js") : undefined

/** From now on this process imports what was built. */
export const use = (): void => {
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = specifier.startsWith(".") ? new URL(specifier, context.parentURL).href : specifier
      const built = url.startsWith("file:") ? moduleOf(fileURLToPath(url)) : undefined
      return next(built === undefined ? specifier : pathToFileURL(built).href, context)
    }
  })
}
