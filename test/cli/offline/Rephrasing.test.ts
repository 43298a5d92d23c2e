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
  },
  "lines that hold a text": {
    "show lines that contain TODO": "lines <TODO>",
    "list all lines containing TODO": "lines <TODO>",
    "which lines of src/a.ts mention 'foo bar'?": "lines <foo bar> in src/a.ts",
    "show the lines with TODO in src": "lines <TODO> in src",
    "how many lines contain TODO in src?": "occurrences <TODO> in src",
    "which line of a.ts has TODO?": "lines <TODO> in a.ts",
    "how many lines has a.md in docs?": "nothing",
    "where in src is TODO mentioned?": "lines <TODO> in src",
    "in which files under src is TODO used?": "files <TODO> in src",
    "number of files containing TODO": "fileCount <TODO>",
    "how many occurrences of TODO are in src?": "occurrences <TODO> in src",
    "search for TODO everywhere": "lines <TODO>",
    "find TODO somewhere in src": "lines <TODO> in src",
    "is TODO used everywhere in src?": "lines <TODO> in src",
    "grep -rn TODO src": "lines <TODO> in src",
    "grep -r 'a b'": "lines <a b>"
  },
  "a condition that is no text": {
    "grep -i todo": "nothing",
    "which files contain TODO and FIXME?": "nothing",
    "where are 'a' and 'b' used?": "nothing",
    "find TODO in src and test": "nothing",
    "where is todo mentioned, ignoring case": "nothing",
    "which files contain neither a nor b": "nothing",
    "which files contain TODO but not FIXME?": "nothing",
    "find todo case-insensitively": "nothing",
    "where is caseInsensitive used?": "lines <caseInsensitive>",
    "which files mention case-insensitive?": "files <case-insensitive>",
    "show all lines that start with foo": "nothing",
    "show me two files": "nothing",
    "where is \"todo, ignoring case\" mentioned": "lines <todo, ignoring case>"
  },
  "lines of a file": {
    "show the last line of a.ts": "read a.ts {\"last\":1}",
    "the first line of a.ts": "read a.ts {\"from\":1,\"to\":1}",
    "show the last lines of a.ts": "read a.ts {\"last\":10}",
    "read a.ts from line 3": "read a.ts {\"from\":3}",
    "show a.ts starting at line 12": "read a.ts {\"from\":12}",
    "read from line 3 of a.ts": "read a.ts {\"from\":3}",
    "read a.ts from line 3 to 5": "read a.ts {\"from\":3,\"to\":5}",
    "read lines 3 and 5 of a.ts": "nothing",
    "read lines 3- of a.ts": "nothing",
    "show the second line of a.ts": "nothing",
    "show the lines of a.ts": "read a.ts {}",
    "print all lines of 'my a.ts'": "read my a.ts {}",
    "show lines of code in src/a.ts": "lines <code> in src/a.ts",
    "read the lines between 3 and 5 of a.ts": "read a.ts {\"from\":3,\"to\":5}",
    "read \"the lines of a.ts\"": "read the lines of a.ts {}",
    "read from line 3 to line 5 of a.ts": "read a.ts {\"from\":3,\"to\":5}"
  },
  "the length of a file": {
    "how many bytes does a.ts have?": "measure a.ts",
    "how many bytes is a.ts?": "measure a.ts",
    "number of lines in a.ts": "measure a.ts",
    "how many lines of code does a.ts have?": "measure a.ts",
    "number of lines of code in a.ts": "measure a.ts",
    "count the lines of code in a.ts": "measure a.ts",
    "what is the line count of a.ts?": "measure a.ts"
  },
  "a sum in words": {
    "what is three times four?": "= 3 * 4",
    "what is the sum of 3 and 4.5?": "= 3 + 4.5",
    "the product of twelve and 12": "= 12 * 12",
    "what is the difference between 10 and 4?": "= 10 - 4",
    "add 3 and 4": "= 3 + 4",
    "subtract 3 from 10": "= 10 - 3",
    "multiply 3 by 4": "= 3 * 4",
    "divide 10 by 4": "= 10 / 4",
    "what is half of 10?": "= 10 / 2",
    "what is the square root of 16?": "= 16 ^ 0.5",
    "square root of -4": "nothing",
    "multiply 2+3 by 4": "nothing",
    "divide -10 by 5%": "= -10 / 5%",
    "99999999999999999999 times 1.05": "= 99999999999999999999 * 1.05",
    "one": "nothing",
    "four files": "nothing"
  }
}

for (const [what, table] of Object.entries(tasks)) {
  describe(what, () => {
    for (const [task, expected] of Object.entries(table)) {
      it(`${task} -> ${expected}`, () => assert.strictEqual(told(Grammar.parse(task)), expected))
    }
  })
}
