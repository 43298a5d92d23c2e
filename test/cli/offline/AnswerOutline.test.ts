import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as AnswerOutline from "../../../src/cli/offline/AnswerOutline.ts"
import { sandbox } from "../tools/files/Sandbox.ts"
import { answer } from "./Ask.ts"

const source = `/**
export const inAComment = 1
 */
import { a } from "a"
export const one = 1, two = 2
export default class Three<T> {}
const four = 4
export async function* five() {}
  export const indented = 6
export interface Seven extends Eight {}
export abstract class Nine {}
export {
  four,
  a as ten
} from "./x.ts"
export * as Eleven from "./y.ts"
export type Twelve = string
export enum Thirteen { A }
export const { fourteen } = a
exported()
`

const page = `# One

text #not
## Two ##
\`\`\`md
# in code
\`\`\`
Three
=====
four
----

---
    # indented
####### seven
### 
~~~
# in code to the end
`

const told = (entries: ReadonlyArray<AnswerOutline.Entry>) => entries.map(({ line, text }) => `${line} ${text}`)

describe("outlines", () => {
  it("exported declarations are those that begin a line of code", () => {
    assert.deepStrictEqual(told(AnswerOutline.exported(source.split("\n"))), [
      "5 const one",
      "6 default class Three",
      "8 async function* five",
      "10 interface Seven",
      "11 abstract class Nine",
      "12 { four, a as ten } from \"./x.ts\"",
      "16 * as Eleven from \"./y.ts\"",
      "17 type Twelve",
      "18 enum Thirteen",
      "19 const { fourteen } = a"
    ])
  })

  it("headings are those outside code blocks", () => {
    assert.deepStrictEqual(told(AnswerOutline.headings(page.split("\n"))), [
      "1 # One",
      "4 ## Two",
      "8 # Three",
      "10 ## four",
      "16 ###"
    ])
  })

  it("definitions in Python are those at the top level", () => {
    assert.deepStrictEqual(
      told(AnswerOutline.definitions(["class A:", "  def b(self):", "async def c():", "define()"])),
      [
        "1 class A",
        "3 async def c"
      ]
    )
  })

  it.effect("are shown with line numbers", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "src/a.ts": "export const a = 1\n".repeat(10) })
      const lines = (yield* answer(root, "outline src/a.ts")).split("\n")
      assert.deepStrictEqual([lines[0], lines[1], lines[10]], [
        "src/a.ts has 10 exported declarations:",
        " 1  const a",
        "10  const a"
      ])
    }))

  it.effect("of an empty file, or of one without definitions, say so", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.ts": "const a = 1", "b.json": "{}" })
      assert.strictEqual(yield* answer(root, "outline a.ts"), "a.ts has no exported declarations.")
      assert.include(yield* answer(root, "outline b.json"), "b.json has no outline that is known here")
    }))
})
