/**
 * fiberloop as it is installed, which is how every peer is measured: what adapters import of its sources leads to what was
 * built of them. Does not say how it is built.
 */
import { execFile } from "node:child_process"
import { registerHooks } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"

const root = join(import.meta.dirname, "../..")

export const sources = join(root, "src")

/** What `build` makes. */
export const folder = join(root, "dist")

/** The module that was built of a source. */
export const moduleOf = (source: string): string => source.replace(sources, folder).replace(/\.ts$/, ".js")

export const build = async (): Promise<void> => {
  await promisify(execFile)(process.execPath, [join(root, "scripts/build.mjs")])
}

/** From now on this process imports what was built. */
export const use = (): void => {
  const written = pathToFileURL(sources).href
  const built = pathToFileURL(folder).href
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = specifier.startsWith(".") ? new URL(specifier, context.parentURL).href : specifier
      return next(
        url.startsWith(`${written}/`) ? url.replace(written, built).replace(/\.ts$/, ".js") : specifier,
        context
      )
    }
  })
}
