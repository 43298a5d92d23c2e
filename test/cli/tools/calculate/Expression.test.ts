import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Expression from "../../../../src/cli/tools/calculate/Expression.ts"
import * as Rational from "../../../../src/cli/tools/calculate/Rational.ts"

/** The value of an expression: `~` precedes a rounded result, and a reason in capitals stands for none. */
const value = (text: string): string => {
  const result = Expression.evaluate(text)
  if (Result.isFailure(result)) return result.failure.reason.toUpperCase()
  const shown = Rational.toText(result.success.number)
  return `${result.success.isExact && shown.isExact ? "" : "~"}${shown.text}`
}

const values: Record<string, string> = {
  "12 * (3 + 4.5)": "90",
  "2 + 3 * 4": "14",
  "(2 + 3) * 4": "20",
  "8 / 4 / 2": "1",
  "10 - 4 - 3": "3",
  "2^10": "1024",
  "2**3": "8",
  "2^3^2": "512",
  "-2^2": "-4",
  "(-2)^2": "4",
  "2^-2": "0.25",
  "2 * -3": "-6",
  "--3": "3",
  "-(3 - 5)": "2",
  "+4": "4",
  "0.1 + 0.2": "0.3",
  ".5 + 5.": "5.5",
  "1e3 + 1E-1": "1000.1",
  "1,234,567 + 1": "1234568",
  "17% of 230": "39.1",
  "17%": "0.17",
  "200 * 10%": "20",
  "200 + 10% of 200": "220",
  "5% + 10% - 1%": "0.14",
  "10% + 3": "3.1",
  "200 + 10%": "SYNTAX",
  "200 - 2 * 3 - 10%": "SYNTAX",
  "10% + 200 + 5%": "SYNTAX",
  "50% * 2": "1",
  "10 % 3": "1",
  "10 mod 3": "1",
  "-7 mod 3": "-1",
  "7.5 mod 2": "1.5",
  "3 × 4 ÷ 2 − 1": "5",
  "1 / 3": "~0.333333333333333",
  "2 / 3": "~0.666666666666667",
  "-2 / 3": "~-0.666666666666667",
  "1 / 3 * 3": "1",
  "1 / 3 / 1e30": "~3.33333333333333e-31",
  "1e21 / 3": "~333333333333333000000",
  "1e22 / 3": "~3.33333333333333e21",
  "999999999999999.9999 / 7 * 7": "999999999999999.9999",
  "2999999999999999999 / 3e18": "~1",
  "2^0.5": "~1.4142135623730951",
  "16^0.5": "4",
  "0.25^-0.5": "2",
  "9007199254740993 * 1": "9007199254740993",
  "2^100": "1267650600228229401496703205376",
  "2^(1 / 10000000001)": "~1.0000000000693148",
  "1.00000001^1000000000.5": "~22026.463464963836",
  "1.00000001^-1000000000.5": "~0.000045399934564649454",
  "1024^(1/10)": "2",
  "1 / 3e5": "~0.00000333333333333333",
  "1 / 3e6": "~3.33333333333333e-7",
  "0^0": "1",
  "0^5": "0",
  "1^999999999999": "1",
  "(-1)^1000000000001": "-1",
  "(-1)^-3": "-1",
  "1 / 0": "DIVISIONBYZERO",
  "5 mod (2 - 2)": "DIVISIONBYZERO",
  "5 % 0": "DIVISIONBYZERO",
  "0^-1": "DIVISIONBYZERO",
  "0^-0.5": "DIVISIONBYZERO",
  "0^0.5": "0",
  "(-8)^0.5": "NOTREAL",
  "(-8)^(2 + 1e-30)": "NOTREAL",
  "(1e400)^0.5": "TOOLARGE",
  "(1e400)^-0.5": "TOOLARGE",
  "(1e-400)^0.5": "TOOLARGE",
  "(1.23456789e-320)^0.5": "TOOLARGE",
  "1e300^1.5": "TOOLARGE",
  "1e300^-1.5": "TOOLARGE",
  "1e-200^1.6": "TOOLARGE",
  "1^(1e400 + 0.5)": "TOOLARGE",
  "1e-200^1.5": "~1e-300",
  "9^9^9": "TOOLARGE",
  "10^1000": "TOOLARGE",
  "1e1001": "TOOLARGE",
  "2^-4000": "TOOLARGE",
  "1.5^(10^9)": "TOOLARGE",
  "": "SYNTAX",
  "2 +": "SYNTAX",
  "2 3": "SYNTAX",
  "2(3)": "SYNTAX",
  "(2": "SYNTAX",
  "2)": "SYNTAX",
  "1,23": "SYNTAX",
  "1.2.3": "SYNTAX",
  "process.exit()": "SYNTAX",
  "2 ^ ^ 2": "SYNTAX",
  ")": "SYNTAX"
}

describe("an expression", () => {
  for (const [text, expected] of Object.entries(values)) {
    it(`${text === "" ? "nothing" : text} is ${expected}`, () => assert.strictEqual(value(text), expected))
  }

  it("has up to 1000 digits", () => {
    for (const [most, above] of [["2^3321", "2^3322"], ["10^999", "10^1000"], ["0.1e1000", "0.1e1001"]] as const) {
      assert.strictEqual(value(most).length, 1_000, most)
      assert.strictEqual(value(above), "TOOLARGE", above)
    }
    assert.deepStrictEqual([value("1e-999"), value("1e-1000")], ["~1e-999", "TOOLARGE"])
  })

  it("has up to 30 decimals, and is rounded beyond them", () => {
    assert.deepStrictEqual([value("10^-30"), value("10^-31")], [`0.${"0".repeat(29)}1`, "~1e-31"])
  })

  it("may have 1000 characters, and may be nested 100 deep", () => {
    const long = (characters: number) => value("1".padEnd(characters))
    const deep = (levels: number) => value("(".repeat(levels - 1) + "1" + ")".repeat(levels - 1))
    assert.deepStrictEqual([long(1_000), long(1_001)], ["1", "SYNTAX"])
    assert.deepStrictEqual([deep(100), deep(101)], ["1", "SYNTAX"])
  })

  it("that is very long or deep is refused", () => {
    assert.strictEqual(value("1+".repeat(600) + "1"), "SYNTAX")
    assert.strictEqual(value("(".repeat(400) + "1" + ")".repeat(400)), "SYNTAX")
    assert.strictEqual(value("-".repeat(400) + "1"), "SYNTAX")
  })

  it("that is wrong is refused with the reason", () => {
    const message = (text: string) => Result.getOrThrow(Result.flip(Expression.evaluate(text))).message
    assert.strictEqual(message("2 + * 3"), `A number is missing before "*".`)
    assert.strictEqual(message("2 +"), "A number is missing at the end.")
    assert.strictEqual(message("2 3"), `An operator is missing before "3".`)
    assert.strictEqual(message("2 apples"), `"apples" is no part of an expression.`)
    assert.strictEqual(
      message("1e400^0.5"),
      "A broken power is calculated only where its base and its value are between 1e-307 and 1e308."
    )
  })

  const Small = Schema.Int.check(Schema.isBetween({ minimum: -999, maximum: 999 }))

  it.effect.prop(
    "agrees with JavaScript on whole numbers",
    [Small, Small, Small, Schema.Literals(["+", "-", "*"]), Schema.Literals(["+", "-", "*"])],
    ([a, b, c, first, second]) =>
      Effect.sync(() => {
        const apply = { "+": (x: number, y: number) => x + y, "-": (x: number, y: number) => x - y, "*": Math.imul }
        const expected = second === "*" ? apply[first](a, b * c) : apply[second](apply[first](a, b), c)
        assert.strictEqual(
          value(`${a} ${first} ${b} ${second} ${c}`),
          String(first === "*" ? apply[second](a * b, c) : expected)
        )
      })
  )

  it.effect.prop("of any text yields a value or a refusal", [Schema.String], ([text]) =>
    Effect.sync(() => {
      value(text)
    }))

  it.effect.prop(
    "of any symbols yields a value or a refusal",
    [Schema.Array(
      Schema.Literals(["1", "0", "9", ".", "e", "(", ")", "+", "-", "*", "/", "^", "%", " of ", " mod ", ","])
    )],
    ([symbols]) =>
      Effect.sync(() => {
        value(symbols.join(""))
      })
  )
})
