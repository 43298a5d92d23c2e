import { assert, describe, it } from "@effect/vitest"
import * as FilePattern from "../../../../src/cli/tools/files/FilePattern.ts"

const selects = (pattern: string | undefined, path: string, folder = "") =>
  FilePattern.make(pattern)(path, path.slice(folder === "" ? 0 : folder.length + 1))

describe("FilePattern", () => {
  it("selects every file if it is missing or empty", () => {
    assert.isTrue(selects(undefined, "a/b.ts"))
    assert.isTrue(selects("", "a/b.ts"))
  })

  it("without a slash is matched against base names anywhere below", () => {
    assert.isTrue(selects("*.md", "README.md"))
    assert.isTrue(selects("*.md", "a/b/README.md"))
    assert.isFalse(selects("a", "a/b"))
  })

  it("with a slash is matched against the whole path", () => {
    assert.isTrue(selects("src/**/*.ts", "src/a.ts"))
    assert.isTrue(selects("src/**/*.ts", "src/a/b/c.ts"))
    assert.isFalse(selects("src/**/*.ts", "test/a.ts"))
    assert.isFalse(selects("src/*.ts", "src/a/b.ts"))
  })

  it("is matched from the folder and from the root", () => {
    assert.isTrue(selects("a/*.ts", "src/a/b.ts", "src"))
    assert.isTrue(selects("src/a/*.ts", "src/a/b.ts", "src"))
  })

  it("with a leading slash or dot is anchored", () => {
    assert.isTrue(selects("./*.ts", "a.ts"))
    assert.isTrue(selects("/*.ts", "a.ts"))
    assert.isFalse(selects("./*.ts", "a/b.ts"))
  })

  it("with a trailing slash selects everything below", () => {
    assert.isTrue(selects("src/", "src/a/b.ts"))
    assert.isFalse(selects("src/", "test/a.ts"))
  })

  it("selects hidden files", () => {
    assert.isTrue(selects("**/*.yml", ".github/workflows/ci.yml"))
    assert.isTrue(selects("*", ".env"))
  })

  it("supports alternatives", () => {
    assert.isTrue(selects("*.{ts,tsx}", "a/b.tsx"))
  })
})
