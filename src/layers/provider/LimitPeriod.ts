/**
 * How long a limit lasts, by what a provider says of it.
 *
 * Does not own what kind of failure that is (`ProviderErrorKind`).
 */

/** Addresses, which have anything in them. */
const addresses = /https?:\/\/[^\s"]+/gi

/** A limit that is over in a moment: `per minute`, `/min`, `5 requests/s`, `per 10 seconds`, `RPM`. */
const ofAMoment = new RegExp(
  [
    "(per|each|every|/).?(\\d\\d?.?)?(minute|second|(min|sec)(?![a-z]))|\\b(a|one) minute",
    "(\\d.?[a-z]*.?/|per.?\\d\\d?).?s(?![a-z/]|\\.\\w)",
    "(?<![a-z])[qrt]p[ms](?![a-z])"
  ].join("|"),
  "i"
)

/** A limit that is not: of hours or more, of a plan, or of money. */
const ofLonger = new RegExp(
  [
    "hour|year|(per|a|each|every|/).?(day|week|month)|daily|weekly|monthly|(?<![a-z])[qrt]pd(?![a-z])",
    "(?<![a-z])(trial|plan)s?(?![a-z])|free.?tier",
    "(?<!/)(billing|payment|balance|credits?\\b)|(?<![a-z])funds?(?![a-z])"
  ].join("|"),
  "i"
)

/** Whether what is said of a limit means one that is over in a moment. */
export const isOfAMoment = (text: string): boolean => {
  const plain = text.replace(addresses, "")
  return ofAMoment.test(plain) && !ofLonger.test(plain)
}

/** Whether it means a daily one, and does not say when that is over. */
export const isForToday = (text: string): boolean => /(per.day|daily)(?!.*try again in)/is.test(text)
