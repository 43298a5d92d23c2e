/**
 * The sources that an answer names while it comes, each once.
 *
 * Does not own what is kept of one (`Source`).
 */
import * as Schema from "effect/Schema"
import * as Foreign from "../../run/Foreign.ts"
import * as Source from "../../run/Source.ts"

const isSource = Schema.is(Source.Source)

/** What is kept of a source; `undefined` also where a model of untyped code gives what is none. */
const keptOf = (given: Source.Source): Source.Source | undefined => {
  const source = Foreign.look(() => Source.bounded(given), undefined)
  return isSource(source) ? source : undefined
}

export class NamedSources {
  readonly #named = new Map<string, Source.Source>()

  add(given: Source.Source): void {
    if (this.#named.size === Source.most) return
    const source = keptOf(given)
    if (source === undefined) return
    const key = Source.key(source)
    if (!this.#named.has(key)) this.#named.set(key, source)
  }

  all(): Source.Sources | undefined {
    const [first, ...others] = this.#named.values()
    return first === undefined ? undefined : [first, ...others]
  }
}
