/** Removes keys from what others say: providers like to repeat the one that they refuse. Does not know the actual key. */

/** Keys, by the prefixes that providers give them, and bearer tokens. */
const key = new RegExp(
  [
    "(?<![\\w-])(?:sk|pk|rk|gsk|xai|hf|pplx|nvapi)[-_](?=[\\w-]*\\d)[\\w-]{8,}",
    "AIza[\\w-]{20,}",
    "AKIA[A-Z0-9]{16}",
    "(?<=\\bBearer\\s)(?=\\S*\\d)[\\w.~+/-]{12,}=*"
  ].join("|"),
  "g"
)

/** A text without what looks like a key. */
export const keys = (text: string): string => text.replace(key, "<redacted>")
