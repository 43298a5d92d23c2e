/**
 * Owns replacing a file as a whole: readers see the old content or the new, even after a crash.
 *
 * The new file takes over mode, owner and group of the old one (the latter two where this user may), but not its hard
 * links, extended attributes or access lists.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { type FileHandle, open, rename, unlink } from "node:fs/promises"
import * as ChangeError from "./ChangeError.ts"
import * as CurrentFile from "./CurrentFile.ts"
import type { OpenFolder } from "./OpenFolder.ts"

/** Runs when the new content is on the disk and before it replaces the file; for tests that swap things. */
export const BeforeRename = Context.Reference<(path: string) => Effect.Effect<void>>(
  "fiberloop/cli/write/BeforeRename",
  { defaultValue: () => () => Effect.void }
)

/**
 * Puts `bytes` at `name`, replacing `current`. Fails, and changes nothing, when something else is there by then; only
 * where the kernel does not report places, a folder that was swapped at the very last moment is reported after the change. An
 * interruption waits for the write.
 */
export const write = (
  folder: OpenFolder,
  name: string,
  bytes: Uint8Array,
  current: CurrentFile.CurrentFile | undefined,
  path: string
): Effect.Effect<void, ChangeError.Failure> => {
  const attempt = <A>(call: () => Promise<A>) => ChangeError.attempt(path, call)
  const temporary = folder.at(`.fiberloop-${randomUUID()}.tmp`)
  return Effect.acquireUseRelease(
    // A file that only its owner could read is never readable by others, not even for a moment.
    attempt(() => open(temporary, "wx", current === undefined ? 0o666 : 0o600)),
    (handle) =>
      Effect.gen(function*() {
        if (current !== undefined) yield* attempt(() => takeOver(handle, current))
        yield* attempt(() => handle.writeFile(bytes))
        yield* attempt(() => handle.sync())
        yield* (yield* BeforeRename)(path)
        yield* folder.check
        yield* CurrentFile.requireSame(folder, name, current, path)
        yield* attempt(() => rename(temporary, folder.at(name)))
        yield* folder.check
      }),
    (handle) => Effect.promise(() => handle.close().then(() => unlink(temporary)).catch(() => {}))
  ).pipe(Effect.uninterruptible)
}

/**
 * Drops bits that run a program as somebody else, as the kernel does when a file is written. A group other than the old one
 * gets no more rights than everybody.
 */
const takeOver = async (handle: FileHandle, { status }: CurrentFile.CurrentFile): Promise<void> => {
  const [uid, gid, mode] = [Number(status.uid), Number(status.gid), Number(status.mode) & 0o777]
  const made = await handle.stat()
  if (made.uid !== uid || made.gid !== gid) {
    // a user who may not give a file to another user may still give it to one of their own groups
    await handle.chown(uid, gid).catch(() => handle.chown(-1, gid)).catch(() => {})
  }
  const isOfGroup = (await handle.stat()).gid === gid
  await handle.chmod(isOfGroup ? mode : mode & (0o707 | ((mode & 0o007) << 3)))
}
