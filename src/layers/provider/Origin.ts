/** Where the calls of an adapter go, as their errors tell it. */
export interface Origin {
  /** the adapter, and the name of what it adds to its errors */
  readonly module: "LanguageModelOpenAi" | "LanguageModelAiSdk"
  readonly adds: "openai" | "aisdk"
  /** Names the provider in messages: host, with port where it is not the usual one. */
  readonly host: string
  /** The address without credentials and query. */
  readonly url: string
  readonly hasKey: boolean
  /** Names what holds the key, in advice. */
  readonly key: string
  /** A text without the key. */
  readonly redact: (text: string) => string
}
