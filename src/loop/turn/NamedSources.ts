/**
 * The sources that an answer names while it comes, each once.
 *
 * Does not own what is kept of one (`Source`).
 */
import * as Source from "../../run/Source.ts"

export class NamedSources {
  readonly #named = new Map<string, Source.Source>()

  add(given: Source.Source): void {
    if (this.#named.size === Source.most) return
    const source = Source.bounded(given)
    if (source === undefined) return
    const key = Source.key(source)
    if (!this.#named.has(key)) this.#named.set(key, source)
  }

  all(): Source.Sources | undefined {
    const [first, ...others] = this.#named.values()
    return first === undefined ? undefined : [first, ...others]
  }
}
