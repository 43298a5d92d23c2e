/** Owns keeping the first and the last part of an output of any length, as text. Pure, and in bounded memory. */
import type { Ends } from "../Excerpt.ts"

/** Takes an output in chunks. */
interface HeadTail {
  readonly push: (chunk: Uint8Array) => void
  /** What was kept, and whether all bytes were UTF-8 without NUL; others became U+FFFD. */
  readonly end: () => Ends & { readonly isText: boolean }
}

const strange = /[\ufffd\0]/

/** Keeps `length` characters at either end. */
export const make = (length: number): HeadTail => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  let [head, tail, size, isText] = ["", "", 0, true]
  const take = (text: string): void => {
    isText &&= !strange.test(text)
    size += text.length
    const room = length - head.length
    head += text.slice(0, room)
    tail += text.slice(room)
    if (tail.length > 2 * length) tail = tail.slice(tail.length - length)
  }
  return {
    push: (chunk) => take(decoder.decode(chunk, { stream: true })),
    end: () => {
      take(decoder.decode())
      const clean = (text: string) => text.replaceAll("\0", "\ufffd")
      return { head: clean(head), tail: clean(tail), size, isText }
    }
  }
}
