/**
 * Owns what a person saw of a file when they allowed a change of it, so that the change applies to that content and to nothing
 * that somebody wrote since. A change that nobody was shown is not compared with anything.
 *
 * Does not own what is shown (`approval/Describe.ts`), nor a change between reading a file and replacing it
 * (`CurrentFile.ts`).
 */
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as Canonical from "../../../run/Canonical.ts"
import * as ChangeError from "./ChangeError.ts"

/** A file's content and place: a digest, or what else was said of it. Equal values look the same to the person asked. */
export type Content = string

export const absent: Content = "absent"
/** It could not be looked at; never equal to what a call finds. */
export const refused: Content = "refused"
/** For a file too large to show, its size. */
export const large = (size: number | bigint): Content => `${size} bytes`
export const of = (bytes: Uint8Array): Content => createHash("sha256").update(bytes).digest("hex")
/** For the file at `real`: another file with the same content is not the one that was shown. */
export const at = (real: string, content: Content): Content => `${content} at ${real}`

/** Calls are distinguished by all of their decoded parameters. */
export interface ShownFiles {
  /** Notes what a person, about to be asked about this call, sees of the file. */
  readonly remember: (tool: string, params: unknown, content: Content) => void
  /** What was seen for this call, returned once; `undefined` where nothing was. */
  readonly take: (tool: string, params: unknown) => Content | undefined
}

export const make = (): ShownFiles => {
  const seen = new Map<string, Content>()
  const key = (tool: string, params: unknown) => of(Buffer.from(Canonical.canonical([tool, params])))
  return {
    remember: (tool, params, content) => {
      seen.set(key(tool, params), content)
    },
    take: (tool, params) => {
      const content = seen.get(key(tool, params))
      seen.delete(key(tool, params))
      return content
    }
  }
}

/** Fails when the file is not what was seen of it. */
export const requireSame = (
  seen: Content | undefined,
  now: Content,
  path: string
): Effect.Effect<void, ChangeError.ChangeError> =>
  seen === undefined || seen === now ? Effect.void : Effect.fail(ChangeError.changedSinceShown(path))
