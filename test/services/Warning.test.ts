/** What `Warning` says of an error holds nothing of what a call was about. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { runInNewContext } from "node:vm"
import * as Warning from "../../src/services/Warning.ts"

const thrownBy = (run: () => unknown): unknown => {
  try {
    run()
  } catch (thrown) {
    return thrown
  }
  return undefined
}

const address: string = "data:text/javascript,export const SECRET = 1; null.x"
const code = "const SECRET = () => { throw new RangeError('no') }; SECRET()"

describe("no content is said of an error", () => {
  it.effect.each<readonly [string, () => unknown]>([
    [
      "of code that was written into an address",
      () => import(address).catch((error: unknown) => error)
    ],
    ["of code that a model wrote", () => thrownBy(Reflect.construct(Function, [code]) as () => void)],
    ["of a method that was named after an argument", () => {
      const made = {
        ["SECRET@example.com"]: () => {
          throw new RangeError("no")
        }
      }
      return thrownBy(() => made["SECRET@example.com"]!())
    }],
    ["whose message was emptied", () => {
      const error = new RangeError("words\n    at SECRET (file.ts:1:1)")
      error.message = ""
      return error
    }],
    ["whose stack was written", () => {
      const error = new RangeError("no")
      error.stack = "RangeError: no\n    at SECRET:1:1"
      return error
    }],
    ["of another realm", () => thrownBy(() => runInNewContext("throw new RangeError('SECRET')"))],
    ["with causes", () => new AggregateError([new Error("SECRET")], "no", { cause: new Error("SECRET") })],
    ["that is a proxy", () =>
      new Proxy(new RangeError("SECRET"), {
        get: () => {
          throw new Error("SECRET")
        }
      })]
  ])("%s", ([, make]) =>
    Effect.gen(function*() {
      const made = make()
      const thrown = made instanceof Promise ? yield* Effect.promise(() => made) : made
      assert.notInclude(Warning.saidOf(thrown), "SECRET")
    }))

  it("but the place is, where that is a file's", () => {
    assert.match(Warning.saidOf(new RangeError("SECRET")), /^: RangeError at .*Warning\.test\.ts:\d+:\d+$/)
  })

  it("and of places in installed packages the call that led there", () => {
    const error = new RangeError("no")
    error.stack = "RangeError: no\n    at check (/app/node_modules/zod/index.js:1:2)\n    at pay (/app/pay.js:3:4)"
    assert.strictEqual(Warning.saidOf(error), ": RangeError at /app/pay.js:3:4")
  })
})
