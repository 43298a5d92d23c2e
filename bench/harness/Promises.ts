/** Shared by the sources and tools of contenders that are made of promises. */
import type { Script, Tally } from "./Contender.ts"

const now: Promise<void> = Promise.resolve()

/** What a source waits for before its next pieces, so that the reader can run. */
export const arrived = ({ between }: Script): Promise<void> =>
  between === "microtask" ? now : new Promise((resolve) => setImmediate(resolve))

export const wait = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Never resolves; where the script honours its signal, rejects when that is aborted. */
export const hang = (script: Script, tally: Tally, signal: AbortSignal | undefined): Promise<never> =>
  script.hang === "ignores" ? new Promise(() => {}) : new Promise((_, reject) => {
    tally.hanging++
    const stop = () => {
      tally.hanging--
      reject(new DOMException("aborted", "AbortError"))
    }
    if (signal?.aborted) stop()
    else signal?.addEventListener("abort", stop, { once: true })
  })

/** The outcomes of `f` in order, with at most `width` calls at once. */
export const pool = async <A, B>(
  items: ReadonlyArray<A>,
  width: number,
  f: (item: A) => Promise<B>
): Promise<ReadonlyArray<B>> => {
  const results: Array<B> = []
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const i = next++
      results[i] = await f(items[i]!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker))
  return results
}

/** Lets at most `width` in at once: for contenders that have no such setting of their own. */
export const limiter = (width: number) => {
  const waiting: Array<() => void> = []
  let free = width
  return async <A>(f: () => Promise<A>): Promise<A> => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await f()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
