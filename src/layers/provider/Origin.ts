/** Where an adapter's calls go, as its errors report it. */
export interface Origin {
  /** the adapter, and the name of what it adds to its errors */
  readonly module: "LanguageModelOpenAi" | "LanguageModelAiSdk"
  readonly adds: "openai" | "aisdk"
  /** Names the provider in messages: the host, with its port where that is unusual. */
  readonly host: string
  /** The address without credentials and query, and without what may be secret in its path. Empty where none is known. */
  readonly url: string
  readonly hasKey: boolean
  /** Names where the key is set, in advice. */
  readonly key: string
  /** A text without the key. */
  readonly redact: (text: string) => string
}
