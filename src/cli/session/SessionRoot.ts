/**
 * The folder that a kept session works in: the one of its last run, where people saw what they allowed. The session goes on there
 * when nobody names another; calls that were allowed for it are never made in another.
 *
 * Does not own what is below a folder (`Root.ts`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { realpath } from "node:fs/promises"
import * as ErrorWords from "../ErrorWords.ts"
import { badInput, type Refusal } from "../Refusal.ts"
import * as Invocation from "../render/Invocation.ts"
import type { Settings } from "../Settings.ts"
import * as Root from "../tools/files/Root.ts"
import * as AgentName from "./AgentName.ts"
import * as KeptRuns from "./KeptRuns.ts"
import type { Kept } from "./KeptSession.ts"

/** What a run of the command's agent keeps as its `data`. */
const Data = Schema.Struct({ root: Schema.String })

export const dataOf = ({ real }: Root.Root): typeof Data.Type => ({ root: real })

const rootIn = Schema.decodeUnknownOption(Data)

/** An absolute path; `undefined` for a run of another program, or of a version that kept none. */
const of = (kept: Kept): Effect.Effect<string | undefined, Refusal> =>
  Effect.map(KeptRuns.lastStarted(kept), (run) =>
    run?.agent === AgentName.own
      ? Option.getOrUndefined(rootIn(run.input.data))?.root
      : undefined)

/**
 * The settings to go on with this session: unchanged where they name a folder, else with the session's folder. Where that is gone, a
 * new task goes on in the current one, and nothing else does. Where the folders differ, the session's is `sessionRoot`.
 */
export const adopt = Effect.fnUntraced(function*(settings: Settings, kept: Kept): Effect.fn.Return<Settings, Refusal> {
  const root = yield* of(kept)
  if (root === undefined || (yield* isSame(root, settings.root))) return settings
  if (!settings.isDefaultRoot) return { ...settings, sessionRoot: root }
  // the project may have been moved, its sessions with it; a new task leaves out what was allowed there
  if (settings.task !== undefined && !(yield* isSame(root, root))) return { ...settings, sessionRoot: root }
  yield* Effect.mapError(Root.make(root), ({ message }) =>
    badInput(
      `session ${
        JSON.stringify(kept.info.sessionId)
      } goes on in the folder that it worked in, or with a new task in another. ` +
        message
    ))
  return { ...settings, root, sessionRoot: root, flags: [...settings.flags, "--root", root] }
})

/** Said where a session goes on in a folder that nobody named. */
export const notices = ({ isDefaultRoot, root, sessionRoot }: Settings): ReadonlyArray<string> => {
  if (sessionRoot === undefined) return []
  const where = JSON.stringify(sessionRoot)
  if (sessionRoot === root) {
    return [ErrorWords.line(`no folder is named, so this goes on in ${where}, as this session did before`)]
  }
  return isDefaultRoot
    ? [ErrorWords.line(`the folder ${where} of this session is not there, so this goes on in the current one`)]
    : []
}

/** The settings to go on with the session's last run, whose calls may be allowed already: refused in another folder than its own. */
export const toResume = (settings: Settings): Effect.Effect<Settings, Refusal> => {
  const { flags, root, session = "", sessionRoot = root } = settings
  return root === sessionRoot ? Effect.succeed(settings) : Effect.fail(badInput(
    `the last run of session ${JSON.stringify(session)} works in the folder ${
      JSON.stringify(sessionRoot)
    }, and its calls are ` +
      `not made in ${JSON.stringify(root)}: leave --root out to go on there, or give it a new task here, as in ` +
      `${Invocation.of("run", ["--session", session], flags)} "<task>"`
  ))
}

/** The flags that name the folder of this session; none where it is the current one. */
export const flagsOf = (kept: Kept): Effect.Effect<ReadonlyArray<string>, Refusal> =>
  Effect.flatMap(of(kept), (root) =>
    root === undefined
      ? Effect.succeed([])
      : Effect.map(isSame(root, "."), (isHere) => isHere ? [] : ["--root", root]))

/** As `flagsOf`, to go on with a new task: in the current folder where the session's is not there. */
export const flagsToSay = (kept: Kept): Effect.Effect<ReadonlyArray<string>, Refusal> =>
  Effect.flatMap(flagsOf(kept), ([flag, root = "."]) =>
    flag === undefined
      ? Effect.succeed([])
      : Effect.map(isSame(root, root), (isThere) => [flag, isThere ? root : "."]))

/** Whether both lead to one folder that is there. */
const isSame = (one: string, other: string): Effect.Effect<boolean> =>
  Effect.promise(() => Promise.all([realpath(one), realpath(other)]).then(([a, b]) => a === b, () => false))
