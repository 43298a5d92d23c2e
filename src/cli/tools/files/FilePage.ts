/**
 * Owns which bytes are on a page of a file: whole lines from a given line on, at most so many lines and bytes. Pure, and
 * holds no more than the page.
 * Does not own reading (`ReadFile.ts`).
 */

/** What is asked for. */
export interface Request {
  /** 1-based. */
  readonly fromLine: number
  readonly maxLines: number
  readonly maxBytes: number
}

/** A page, and the number of lines of the whole file. */
export interface Page {
  readonly bytes: Uint8Array
  readonly lines: number
  /** The last line on the page; `fromLine - 1` when it has none. */
  readonly to: number
  /** The last line alone is longer than the page: only its start is there. */
  readonly isLineCut: boolean
}

/** Takes a file in chunks from its start. */
interface Collector {
  readonly push: (chunk: Uint8Array) => void
  readonly end: () => Page
}

const lineFeed = 0x0a

/** A collector for one page. */
export const collector = ({ fromLine, maxBytes, maxLines }: Request): Collector => {
  const pieces: Array<Uint8Array> = []
  let ended = 0 // lines of the file that have ended
  let isOpen = false // whether bytes follow the last of them
  let bytes = 0 // on the page
  let whole = 0 // lines on the page that have ended
  let wholeBytes = 0
  let isFull = false
  const take = (piece: Uint8Array, endsLine: boolean): void => {
    const kept = piece.subarray(0, maxBytes - bytes)
    isFull = kept.length < piece.length
    pieces.push(new Uint8Array(kept))
    bytes += kept.length
    if (endsLine && !isFull) {
      whole++
      wholeBytes = bytes
    }
  }
  return {
    push: (chunk) => {
      for (let from = 0; from < chunk.length;) {
        const at = chunk.indexOf(lineFeed, from)
        const to = at === -1 ? chunk.length : at + 1
        if (!isFull && ended >= fromLine - 1 && ended < fromLine - 1 + maxLines) {
          take(chunk.subarray(from, to), at !== -1)
        }
        if (at !== -1) ended++
        isOpen = at === -1
        from = to
      }
    },
    end: () => {
      const isLineCut = isFull && whole === 0
      const size = isFull && !isLineCut ? wholeBytes : bytes
      return {
        bytes: Buffer.concat(pieces).subarray(0, size),
        lines: isOpen ? ended + 1 : ended,
        to: fromLine - 1 + whole + (size > wholeBytes ? 1 : 0),
        isLineCut
      }
    }
  }
}
