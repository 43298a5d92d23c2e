/**
 * A package with nothing in it yet but its `package.json`, as vitest's global setup: the packages it needs are found
 * beside it, like those of an installed package. Removed with the run.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** its folder, in which each process of the run builds what it needs into `dist` */
    readonly installed: string
  }
}

const modules = join(import.meta.dirname, "../../node_modules")

const remove = (folder: string) => rmSync(folder, { recursive: true, force: true })

export const setup = ({ provide }: TestProject): () => void => {
  for (const name of readdirSync(modules)) if (isLeft(name)) remove(join(modules, name))
  const folder = mkdtempSync(join(modules, `.fiberloop-${process.pid}-`))
  // an interrupted run is not torn down
  process.once("exit", () => remove(folder))
  mkdirSync(join(folder, "dist"))
  copyFileSync(join(modules, "../package.json"), join(folder, "package.json"))
  provide("installed", folder)
  return () => remove(folder)
}

/** Left by a run that was killed. */
const isLeft = (name: string): boolean => {
  const pid = /^\.fiberloop-(\d+)-/.exec(name)?.[1]
  if (pid === undefined) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch {
    return true
  }
}
