/** Preloaded into child processes: the package under its own name is its source, as in vitest.config.ts. */
import { registerHooks } from "node:module"

const source = (specifier: string): string | undefined => {
  if (specifier === "fiberloop") return "index.ts"
  if (/^fiberloop\/(testing|node)$/.test(specifier)) return `${specifier.slice(10)}/index.ts`
  return specifier.startsWith("fiberloop/") ? `${specifier.slice(10)}.ts` : undefined
}

registerHooks({
  resolve: (specifier, context, next) => {
    const file = source(specifier)
    return next(file === undefined ? specifier : new URL(`../../src/${file}`, import.meta.url).href, context)
  }
})
