/** Colours for what the command says about a run; none where they are not wanted. */

export interface Paint {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly green: (text: string) => string
  readonly red: (text: string) => string
  readonly yellow: (text: string) => string
}

const sgr = (code: number) => (text: string): string => `\u001b[${code}m${text}\u001b[0m`
const same = (text: string): string => text

export const plain: Paint = { bold: same, dim: same, green: same, red: same, yellow: same }
export const coloured: Paint = { bold: sgr(1), dim: sgr(2), green: sgr(32), red: sgr(31), yellow: sgr(33) }

/** Colours where a terminal shows them, unless none are wanted. */
export const of = ({ isTerminal }: { readonly isTerminal: boolean }, isPlain: boolean): Paint =>
  isTerminal && !isPlain ? coloured : plain
