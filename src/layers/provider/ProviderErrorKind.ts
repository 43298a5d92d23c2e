/**
 * What kind of failure a provider's error is: one table, by status, by name and by words. Pure, and the same for every
 * adapter.
 *
 * Does not own the shapes of errors (`ProviderError`), nor which kind may be tried again (`ModelErrors`).
 */
import * as LimitPeriod from "./LimitPeriod.ts"
import type * as ProviderError from "./ProviderError.ts"

export type Kind =
  | "authentication"
  | "permission"
  | "quota"
  | "rateLimit"
  | "overflow"
  | "policy"
  | "request"
  /** the model's answer cannot be used, but the next one may be */
  | "response"
  | "network"
  | "server"

type Table = ReadonlyArray<readonly [RegExp, Kind]>

/** Codes, types and exceptions in lower-case letters only, because providers spell the same name in every case. */
const names: Table = [
  [/context(length|size|window)|tokenslimitreached/, "overflow"],
  // Gemini: a limit per day is a quota, a limit per minute is a rate; Alibaba throttles by quotas
  [/perday/, "quota"],
  [/perminute|persecond|throttl/, "rateLimit"],
  [/quota|billing|balance|credit|paymentrequired|arrearage|budgetexceeded/, "quota"],
  [/ratelimit|toomanyrequests|resourceexhausted/, "rateLimit"],
  // Groq: the model called a tool, or wrote JSON, that cannot be read
  [/^(tooluse|jsonvalidate)failed/, "response"],
  [
    /overload|unavailable|capacity|server|internal|timeout|deadline|insufficientsystem|modelerror|modelstreamerror|notready/,
    "server"
  ],
  [/contentfilter|contentpolicy|contentmoderation|moderation|safety|responsibleaipolicy|datainspection/, "policy"],
  [
    /apikey|authentication|unauthori[sz]ed|unauthenticated|expiredtoken|unrecognizedclient|signature/,
    "authentication"
  ],
  [/permission|forbidden|accessdenied/, "permission"],
  [/invalid|badrequest|notfound|(un|not)supported|unprocessable|validation|toolarge/, "request"]
]

/** Codes of connections that broke. */
const networkCode =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ESOCKETTIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|EPROTO|UND_ERR_\w+|HPE_\w+|ERR_SSL_\w+|ERR_TLS_\w+|CERT_\w+|\w*SELF_SIGNED_CERT\w*|UNABLE_TO_\w+)$/

const kindOfName = (name: string | undefined): Kind | undefined => {
  if (name === undefined) return undefined
  if (networkCode.test(name)) return "network"
  const letters = name.toLowerCase().replace(/[^a-z]/g, "")
  return names.find(([pattern]) => pattern.test(letters))?.[1]
}

/** One request has more tokens than a minute allows (OpenAI, Groq): waiting does not help, a shorter request does. */
const moreThanAMinuteAllows = /request too large.*tokens per min|tokens must be reduced/is

/** The words of servers without a name for it. */
const words: Table = [
  [
    new RegExp(
      [
        // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral, xAI, LM Studio
        "(exceed|maximum|greater|longer|larger).{0,60}context.?(length|limit|size|window)",
        "context.?(length|limit|size|window).{0,30}exceed", // llama.cpp, MiniMax
        "exceeds the (available )?context", // llama.cpp
        "maximum (context|prompt)", // Mistral, xAI
        "longer than the maximum model length", // vLLM
        "exceeded model token limit", // Moonshot
        "prompt token count.*exceeds", // GitHub Copilot
        "input tokens exceed the configured limit", // OpenAI
        "reduce the length of the (messages|prompt|input)", // Groq, vLLM
        "prompt (is )?too long", // Anthropic, Ollama
        "input.{0,20}too long", // Bedrock
        "too many tokens(?! per|, please)", // Cohere, and not a rate
        "inputs.{0,10} (tokens.{0,30} must be <=|must have less than \\d+ tokens)", // TGI, Together
        "input token count.*(exceeds|only supports)", // Gemini, Vertex AI
        "range of input length should be", // Alibaba
        "prompt exceeds max length", // Z.ai
        "input length.{0,20} exceeds", // Volcengine
        "request body too large for .* tokens" // GitHub Models
      ].join("|"),
      "i"
    ),
    "overflow"
  ],
  [
    new RegExp(
      [
        "credit balance is too low", // Anthropic
        "reached your specified api usage limits", // Anthropic
        "insufficient (account )?(balance|credit|quota|fund)",
        "exceeded your current quota", // OpenAI
        "spending limit", // xAI
        // xAI, Hugging Face, Cloudflare
        "(exceeded|used (up|all)|out of|\\bno\\b|n't have|not have|not enough).{0,40}\\b(credits?|balance|funds|free allocation)\\b",
        "(purchase|add|requires) (more )?credits", // OpenRouter
        "billing (hard )?limit|enable billing"
      ].join("|"),
      "i"
    ),
    "quota"
  ],
  [
    new RegExp(
      [
        "content (filtering|management) policy|by (the |our )?content filter", // Anthropic, Azure
        "flagged as potentially violating|(was|were|been) flagged|requires moderation", // OpenAI, OpenRouter
        "limited access to this content for safety", // OpenAI
        "content exists risk|content violates usage guidelines", // DeepSeek, xAI
        "rejected as a result of our safety system"
      ].join("|"),
      "i"
    ),
    "policy"
  ],
  [
    /login fail|(incorrect|invalid|missing|no) api.?key|api.?key (is )?(not valid|invalid|expired|not found)/i,
    "authentication"
  ]
]

/** What statuses mean in words: for a message that has neither a status nor a name with it. */
const phrases: Table = [
  [/payment required|\bbilling\b/i, "quota"],
  [/rate.?limit|too many( \w+)? requests|exceed.{0,40}\brequests?\b|throttl|slow down/i, "rateLimit"],
  [
    /overload|unavailable|capacity|internal|\bbusy\b|time.?out|timed out|deadline|bad gateway|upstream|connection|network/i,
    "server"
  ],
  [
    /unauthori[sz]ed|unauthenticated|authentication|\bcredentials?\b|(invalid|incorrect|expired|missing)( \w+)? (token|key)\b/i,
    "authentication"
  ],
  [/forbidden|permission|access denied|not (allowed|permitted)|no(t have)? access/i, "permission"],
  [
    /not found|not exist|not support|unsupported|bad request|too large|unprocessable|invalid (request|input|argument|parameter|value|model)/i,
    "request"
  ]
]

const find = (table: Table, text: string): Kind | undefined => table.find(([pattern]) => pattern.test(text))?.[1]

/** What a message means by itself. */
export const ofMessage = (message: string): Kind | undefined =>
  find(words, message) ?? (/\s/.test(message) ? find(phrases, message) : kindOfName(message))

/** These kinds also come from names that are too general, so that words may say more. */
const isVague = (kind: Kind): boolean => kind === "request" || kind === "server"

const isOneOf = (kind: Kind | undefined, ...kinds: ReadonlyArray<Kind>): kind is Kind =>
  kind !== undefined && kinds.includes(kind)

/** The status of most errors of a kind: what an error without one says further is read as it is there. */
const usualStatus: Record<Exclude<Kind, "network">, number> = {
  authentication: 401,
  permission: 403,
  quota: 429,
  rateLimit: 429,
  overflow: 400,
  policy: 400,
  request: 400,
  response: 400,
  server: 500
}

/** What an error with a status is, by its names and its words too. */
const ofStatus = (status: number, said: string, named: Kind | undefined, worded: Kind | undefined): Kind => {
  switch (status) {
    case 401:
      return "authentication"
    case 402:
      return "quota"
    case 403:
      return isOneOf(named, "policy", "quota")
        ? named
        : isOneOf(worded, "policy", "quota")
        ? worded
        : "permission"
    case 408:
    case 409:
    case 424: // a model that failed behind the API: Bedrock, Groq
    case 425:
    case 498: // Groq: no capacity in the flexible tier
    case 499: // Gemini: cancelled
      return "server"
    case 429:
      return named === "quota" || LimitPeriod.isForToday(said) || (worded === "quota" && named !== "rateLimit")
        ? "quota"
        : "rateLimit"
    case 501:
    case 505:
      return "request"
    default:
      if (worded === "overflow" && !isOneOf(named, "rateLimit", "quota")) return "overflow"
      if (status >= 500) return "server"
      if (isOneOf(named, "policy", "quota", "authentication", "response")) return named
      if (status === 400 && named === "rateLimit") return named
      return isOneOf(worded, "policy", "quota", "authentication") ? worded : "request"
  }
}

/**
 * What kind of failure an error is. The status (400 or more) decides where there is one, refined by names and then by
 * words: 429 is a quota or a rate (always a rate if it is over in a moment), 400 an overflow, a policy, a key or an empty
 * account. Without a status the names decide which one it would have been, or else the words; without either it is the
 * server's failure.
 */
export const kind = (error: ProviderError.ProviderError, status: number | undefined): Kind => {
  const said = [error.message, error.raw].join("\n").trim()
  const given = [...error.names ?? [], error.code, error.type]
  const isRate = (status === undefined || status === 429) && LimitPeriod.isOfAMoment([said, ...given].join("\n"))
  const all = given.flatMap((name) => kindOfName(name) ?? [])
    .map((kind) => isRate && kind === "quota" ? "rateLimit" : kind)
  if (all.includes("overflow") || moreThanAMinuteAllows.test(said)) return "overflow"
  const named = all.find((kind) => kind === "quota") ?? all.find((kind) => !isVague(kind)) ?? all[0]
  const found = find(words, said)
  const worded = isRate && isOneOf(found, "quota", "overflow") ? "rateLimit" : found
  if (status !== undefined) return ofStatus(status, said, named, worded)
  const guess = named ?? worded ?? ofMessage(said) ?? (isRate ? "rateLimit" : "server")
  return guess === "network" ? guess : ofStatus(usualStatus[guess], said, guess, worded)
}
