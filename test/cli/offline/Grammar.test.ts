import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Grammar from "../../../src/cli/offline/Grammar.ts"
import { told } from "./Told.ts"

const ranks: Record<string, string> = {
  "which three files under src are the longest?": "3 most lines in src",
  "Which 3 files in src are the longest": "3 most lines in src",
  "the 5 largest .ts files": "5 most bytes of *.ts",
  "List the twenty shortest files.": "20 fewest lines",
  "what is the longest file?": "1 most lines",
  "What's the biggest file in the src folder?": "1 most bytes in src|src folder",
  "which file has the most lines in src/cli?": "1 most lines in src/cli",
  "find the smallest markdown file": "1 fewest bytes of *.{md,markdown}",
  "show me the 2 longest *.test.ts files under test": "2 most lines in test of *.test.ts",
  "top 10 files by size": "10 most bytes",
  "top three ts files by lines in src": "3 most lines in src of *.ts",
  "the longest files": "5 most lines",
  "the 4 longest files by bytes": "4 most bytes",
  "the largest file by number of lines": "1 most lines",
  "which files have the fewest lines?": "5 fewest lines",
  "the 3 longest files in this repository": "3 most lines",
  "the 3 longest files in all markdown files": "3 most lines of *.{md,markdown}",
  "please, can you tell me which two files below \"my docs\" are the largest?": "2 most bytes in my docs",
  "the longest file under my docs": "1 most lines in my docs",
  "the longest file in the my docs folder": "1 most lines in my docs folder|my docs",
  "which three files under übung/日本 are the longest?": "3 most lines in übung/日本",
  "which of the files in ../other is the longest": "1 most lines in ../other",
  "the longest file called 'a*b.ts'": "1 most lines of a*b.ts",
  "the 3 longest files ending in .md": "3 most lines of *.md",
  "the 3 longest files with extension json": "3 most lines of *.json",
  "which files in src are the largest, by bytes?": "5 most bytes in src",
  "what are the biggest three files here?": "3 most bytes",
  "how many lines does the longest file in src have?": "1 most lines in src",
  "how long is the longest file?": "1 most lines",
  "the 2 longest source files":
    "2 most lines of *.{ts,tsx,mts,cts,js,jsx,mjs,cjs,py,rs,go,java,kt,c,h,cc,cpp,hpp,cs,rb,php,swift,scala}",
  "find the longest lines in src": "nothing",
  "which three files under src are the longest and why?": "nothing",
  "the 3 longest files not under src": "nothing",
  "the 3 longest files in src without tests": "nothing",
  "the longest file in src or test": "nothing",
  "the longest file of this project": "1 most lines",
  "the second longest file": "nothing",
  "the 0 longest files": "nothing",
  "the longest word in README.md": "nothing",
  "the longest .ts and .js files": "nothing",
  "the 3 longest empty files": "nothing"
}

const searches: Record<string, string> = {
  "where is TODO mentioned?": "lines <TODO>",
  "where is Effect.gen used in src?": "lines <Effect.gen> in src",
  "where is the function makeThing defined under \"my src\"?": "lines <makeThing> in my src",
  "where is Layer?": "lines <Layer>",
  "find TODO in src": "lines <TODO> in src",
  "find all TODOs in src": "lines <TODO> in src",
  "where do we use Effect.gen in src?": "lines <Effect.gen> in src",
  "grep Effect src": "lines <Effect> in src",
  "grep \"a b\" in src": "lines <a b> in src",
  "find \"foo in bar\" in src": "lines <foo in bar> in src",
  "find hello world": "lines <hello world>",
  "find checked in": "lines <checked in>",
  "search for Layer.provide in the src/layers folder": "lines <Layer.provide> in src/layers|src/layers folder",
  "search src for TODO": "lines <TODO> in src",
  "grep TODO in *.md": "lines <TODO> of *.md",
  "find foo in all markdown files": "lines <foo> of *.{md,markdown}",
  "find foo in the ts files under src": "lines <foo> in src of *.ts",
  "find all uses of Stream.run in src": "lines <Stream.run> in src",
  "is Effect.runSync used anywhere in src?": "lines <Effect.runSync> in src",
  "which files contain 'foo bar'?": "files <foo bar>",
  "which files contain foo bar": "files <foo bar>",
  "which ts files use Layer.merge?": "files <Layer.merge> of *.ts",
  "which files under src mention \"TODO\"?": "files <TODO> in src",
  "list all files that contain TODO in test": "files <TODO> in test",
  "files containing needle": "files <needle>",
  "in which files is needle used?": "files <needle>",
  "how many files contain TODO?": "fileCount <TODO>",
  "how many times does Effect occur?": "occurrences <Effect>",
  "how often is \"a b\" mentioned in README.md?": "occurrences <a b> in README.md",
  "how many TODOs are there in src?": "occurrences <TODO> in src",
  "how many 'a b' are there?": "occurrences <a b>",
  "count the occurrences of foo in src": "occurrences <foo> in src",
  "how many mentions of foo are there in src": "occurrences <foo> in src",
  "where is 'x' found in this project": "lines <x>",
  "find the largest": "1 most bytes"
}

const reads: Record<string, string> = {
  "show README.md": "read README.md {}",
  "read the file src/index.ts": "read src/index.ts {}",
  "print the contents of my notes.txt": "read my notes.txt {}",
  "cat \"a b/c d\"": "read a b/c d {}",
  "show Makefile": "read Makefile {}",
  "read lines 10-20 of src/index.ts": "read src/index.ts {\"from\":10,\"to\":20}",
  "show me lines 3 to 5 of a.ts": "read a.ts {\"from\":3,\"to\":5}",
  "show line 7 of a.ts": "read a.ts {\"from\":7,\"to\":7}",
  "show a.ts lines 2-3": "read a.ts {\"from\":2,\"to\":3}",
  "show a.ts:2-3": "read a.ts {\"from\":2,\"to\":3}",
  "the first five lines of a.ts": "read a.ts {\"from\":1,\"to\":5}",
  "show the last 3 lines of a.ts": "read a.ts {\"last\":3}",
  "what is in package.json?": "read package.json {}",
  "what does package.json say?": "read package.json {}",
  "read lines 20-10 of a.ts": "nothing",
  "outline src/Agent.ts": "outline src/Agent.ts",
  "show the outline of README.md": "outline README.md",
  "which exports does src/index.ts have?": "outline src/index.ts",
  "what does src/index.ts export?": "outline src/index.ts",
  "list the headings of README.md": "outline README.md",
  "how many lines does src/index.ts have?": "measure src/index.ts",
  "how long is README.md?": "measure README.md"
}

const sums: Record<string, string> = {
  "what is 12 * (3 + 4.5)?": "= 12 * (3 + 4.5)",
  "17% of 230": "= 17% of 230",
  "what is 17 percent of 230?": "= 17 % of 230",
  "2^10": "= 2^10",
  "calculate 10 / 4.": "= 10 / 4",
  "what's 3 times 4 plus 2?": "= 3 * 4 + 2",
  "3 x 4": "= 3 * 4",
  "what is the result of 2+2 = ?": "= 2+2",
  "what is 7 divided by 0?": "= 7 / 0",
  "-5 + 3": "= -5 + 3",
  "what is 2 +": "= 2 +",
  "what is 5!": "nothing",
  "what is x + 2?": "nothing",
  "5": "nothing"
}

const lists: Record<string, string> = {
  "list all *.json files": "list paths of *.json",
  "how many test files are there under test?": "list count in test of *.{test,spec}.*",
  "how many files are there?": "list count",
  "count the ts files in src": "list count in src of *.ts",
  "which files are in src/run?": "list paths in src/run",
  "list files": "list paths",
  "list the files in the src folder": "list paths in src|src folder",
  "list src": "list paths in src",
  "ls *.md": "list paths of *.md",
  "find all *.test.ts files under test": "list paths in test of *.test.ts",
  "list files named package.json": "list paths of package.json",
  "find files called 'a b.txt'": "list paths of a b.txt",
  "where is package.json?": "list paths of package.json",
  "list all files ending with .d.ts": "list paths of *.d.ts",
  "show all yaml files in .github": "list paths in .github of *.{yaml,yml}",
  "how many typescript files does src have?": "list count in src of *.{ts,tsx,mts,cts}",
  "list directories": "nothing",
  "list empty files": "nothing",
  "list all constructor files": "nothing",
  "how many folders are there?": "nothing"
}

const others: Record<string, string> = {
  "": "nothing",
  "hello": "nothing",
  "write a poem": "nothing",
  "delete README.md": "nothing",
  "why is the sky blue?": "nothing",
  "find out why the tests fail": "nothing",
  "find \"the cat\"": "lines <the cat>",
  "summarise README.md": "nothing"
}

for (const [kind, table] of Object.entries({ ranks, searches, reads, sums, lists, others })) {
  describe(`the grammar of ${kind}`, () => {
    for (const [task, expected] of Object.entries(table)) {
      it(`${task} -> ${expected}`, () => assert.strictEqual(told(Grammar.parse(task)), expected))
    }
  })
}

describe("the grammar", () => {
  it("understands its own examples, each as the right kind", () => {
    const tags: Record<string, Array<string>> = {
      "files by size": ["Rank"],
      "text search": ["Search"],
      reading: ["Read", "Outline"],
      arithmetic: ["Calculate"],
      listing: ["List"]
    }
    for (const [kind, ...tasks] of Grammar.examples) {
      for (const task of tasks) assert.include(tags[kind]!, Grammar.parse(task)?._tag ?? "nothing", task)
    }
  })

  it.effect.prop("accepts or rejects any text, and never fails", [Schema.String], ([task]) =>
    Effect.sync(() => {
      Grammar.parse(task)
    }))

  it.effect.prop("finds any quoted text verbatim", [Schema.String], ([text]) =>
    Effect.sync(() => {
      if (text === "" || /["\uE000-\uF8FF]/.test(text)) return
      const intent = Grammar.parse(`which files contain "${text}"?`)
      assert.strictEqual(told(intent), `files <${text}>`)
    }))

  it.effect.prop(
    "finds any quoted folder",
    [Schema.String, Schema.Literals(["1", "7", "twelve"])],
    ([folder, count]) =>
      Effect.sync(() => {
        if (folder.trim() === "" || /["*?\uE000-\uF8FF]/.test(folder)) return
        const intent = Grammar.parse(`the ${count} longest files under "${folder}"`)
        assert.deepStrictEqual(intent?._tag === "Rank" ? intent.where : undefined, { folders: [folder] })
      })
  )
})
