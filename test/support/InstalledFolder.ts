/**
 * A package of which there is nothing yet but its `package.json`, as vitest's global setup: packages that it asks for are found
 * beside it, as those of a package that is installed. Gone with the run.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** its folder, in which each process of the run builds into `dist` what it needs */
    readonly installed: string
  }
}

const root = join(import.meta.dirname, "../..")

export const setup = ({ provide }: TestProject): () => void => {
  const folder = mkdtempSync(join(root, "node_modules/.fiberloop-"))
  mkdirSync(join(folder, "dist"))
  copyFileSync(join(root, "package.json"), join(folder, "package.json"))
  provide("installed", folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
