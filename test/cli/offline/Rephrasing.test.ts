import { assert, describe, it } from "@effect/vitest"
import * as Grammar from "../../../src/cli/offline/Grammar.ts"
import { told } from "./Told.ts"

const tasks: Record<string, Record<string, string>> = {
  "a place that is said first": {
    "under src, which three files are the longest?": "3 most lines in src",
    "In the src folder, what are the 3 largest files?": "3 most bytes in src|src folder",
    "in \"my docs\", list all *.md files": "list paths in my docs of *.md",
    "please, in src/cli: how many .ts files are there?": "list count in src/cli of *.ts",
    "in src, where is TODO mentioned?": "lines <TODO> in src",
    "in README.md, how many times does foo occur?": "occurrences <foo> in README.md",
    "in src, which file in test is the longest?": "nothing"
  },
  "a place between commas": {
    "which three files under src, are the longest?": "3 most lines in src"
  }
}

for (const [what, table] of Object.entries(tasks)) {
  describe(what, () => {
    for (const [task, expected] of Object.entries(table)) {
      it(`${task} -> ${expected}`, () => assert.strictEqual(told(Grammar.parse(task)), expected))
    }
  })
}
