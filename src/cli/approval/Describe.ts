/**
 * Owns what a person sees of a call before allowing it: all of it, nothing abbreviated, nothing hidden. A change of a file
 * is shown as a diff against the file's present content, a command as a line that a shell would read back exactly.
 *
 * Does not own asking (the approver). Notes what it showed of a file (`ShownFiles.ts`), since the file can change before
 * the call runs.
 */
import type * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as ToolCodecs from "../../layers/tools/ToolCodecs.ts"
import * as ShellWord from "../render/ShellWord.ts"
import * as Visible from "../render/Visible.ts"
import * as RunCommand from "../tools/command/RunCommand.ts"
import * as OpenFile from "../tools/files/OpenFile.ts"
import * as Root from "../tools/files/Root.ts"
import * as Utf8 from "../tools/files/Utf8.ts"
import type * as ChangeError from "../tools/write/ChangeError.ts"
import * as EditFile from "../tools/write/EditFile.ts"
import * as ShownFiles from "../tools/write/ShownFiles.ts"
import * as Target from "../tools/write/Target.ts"
import * as UnifiedDiff from "../tools/write/UnifiedDiff.ts"
import * as WriteFile from "../tools/write/WriteFile.ts"

/** Several lines of text without a last line feed, safe to write to a terminal. Never fails: the text says what is wrong. */
export const describe =
  (root: Root.Root, shown: ShownFiles.ShownFiles) => (tool: string, params: unknown): Effect.Effect<string> => {
    switch (tool) {
      case "write_file":
        return decoded(WriteFile.tool, params, (params) => writing(root, params, shown))
      case "edit_file":
        return decoded(EditFile.tool, params, (params) => editing(root, params, shown))
      case "run_command":
        return decoded(RunCommand.tool, params, (params) => running(root, params))
      default:
        return Effect.succeed(raw(tool, params))
    }
  }

/** Shows what the handler would get. */
const decoded = <T extends Tool.Any>(
  tool: T,
  params: unknown,
  show: (params: Tool.Parameters<T>) => Effect.Effect<string>
): Effect.Effect<string> =>
  Effect.matchEffect(ToolCodecs.of(tool).decode(params), {
    onFailure: () =>
      Effect.succeed(`${raw(tool.name, params)}\nThese are not the parameters of this tool: the call will fail.`),
    onSuccess: (params) => show(params as Tool.Parameters<T>)
  })

/** Any call, as JSON. */
const raw = (tool: string, params: unknown): string =>
  `${Visible.line(tool)} ${Visible.lines(JSON.stringify(params, null, 2) ?? "")}`.trimEnd()

const writing = Effect.fnUntraced(function*(
  root: Root.Root,
  params: Tool.Parameters<typeof WriteFile.tool>,
  shown: ShownFiles.ShownFiles
) {
  const { content } = params
  const size = sizeOf(content)
  const current = yield* currentOf(root, params.path)
  const path = nameOf(root, params.path, current)
  shown.remember(WriteFile.tool.name, params, contentOf(current))
  const whole = (title: string) => titled(`write_file ${path}: ${title}`, diffOf("", content))
  if (current._tag === "Refused") return whole(refusal(current.message))
  if (current._tag === "Missing") return whole(`new file, ${size}`)
  const before = current._tag === "Large" ? undefined : Utf8.decode(current.bytes)
  if (before === undefined) {
    const what = current._tag === "Large" ? "that is too large to compare" : "that is not text"
    return whole(`replaces a file of ${current.size} bytes ${what} by ${size}`)
  }
  if (before === content) return `write_file ${path}: the file has this content already, nothing changes`
  return titled(`write_file ${path}: replaces ${sizeOf(before)} by ${size}`, diffOf(before, content))
})

const editing = Effect.fnUntraced(function*(
  root: Root.Root,
  params: Tool.Parameters<typeof EditFile.tool>,
  shown: ShownFiles.ShownFiles
) {
  const current = yield* currentOf(root, params.path)
  const title = `edit_file ${nameOf(root, params.path, current)}`
  const refused = (why: string) =>
    `${title}${params.all ? ", every occurrence" : ""}: ${refusal(why)}\n${asked(params)}`
  shown.remember(EditFile.tool.name, params, contentOf(current))
  if (current._tag === "Refused") return refused(current.message)
  if (current._tag === "Missing") return refused("the file does not exist.")
  if (current._tag === "Large") return refused("the file is too large.")
  return Result.match(EditFile.plan(current.bytes, params), {
    onFailure: (error) => refused(error.message),
    onSuccess: ({ after, before, replacements }) =>
      titled(`${title}: ${replacements} replacement${replacements === 1 ? "" : "s"}`, diffOf(before, after))
  })
})

/** Both texts of an edit that cannot be shown as a diff of the file. */
const asked = ({ newText, oldText }: Tool.Parameters<typeof EditFile.tool>): string =>
  [["-", oldText], ["+", newText]]
    .flatMap(([mark, text]) => text === "" ? [] : text!.split("\n").map((line) => `${mark}${Visible.lines(line)}`))
    .join("\n")

const running = Effect.fnUntraced(function*(
  root: Root.Root,
  { command, cwd, timeoutSeconds }: Tool.Parameters<typeof RunCommand.tool>
) {
  const found = yield* Effect.option(Root.locate(root, cwd ?? "."))
  const leads = Option.match(found, { onNone: () => "", onSome: (found) => leadingTo(root, found) })
  const folder = cwd === undefined ? "the root folder" : `the folder ${ShellWord.of(cwd)}${leads}`
  const limit = `${timeoutSeconds ?? RunCommand.defaultTimeout} s`
  return `run_command in ${folder}, for at most ${limit}:\n${command.map(ShellWord.of).join(" ")}`
})

/** A path as it was given, and the place it leads to when that is elsewhere, since that file is the one changed. */
const nameOf = (root: Root.Root, path: string, current: Current): string =>
  `${Visible.line(path)}${current._tag === "Refused" ? "" : leadingTo(root, current.target)}`

const leadingTo = (root: Root.Root, { path, real }: Root.Located): string => {
  const place = Root.pathOf(root, real)
  return place === path ? "" : `, which leads to ${Visible.line(place)}`
}

const refusal = (message: string): string => `the call will fail, ${Visible.line(message)}`

const titled = (title: string, body: string): string => body === "" ? title : `${title}\n${body.replace(/\n$/, "")}`

const sizeOf = (text: string): string => {
  const lines = Utf8.countLines(text)
  return `${lines} line${lines === 1 ? "" : "s"}, ${Buffer.byteLength(text)} bytes`
}

type Current =
  | { readonly _tag: "Present"; readonly target: Target.Target; readonly bytes: Uint8Array; readonly size: number }
  | { readonly _tag: "Large"; readonly target: Target.Target; readonly size: number }
  | { readonly _tag: "Missing"; readonly target: Target.Target }
  | { readonly _tag: "Refused"; readonly message: string }

const contentOf = (current: Current): ShownFiles.Content => {
  switch (current._tag) {
    case "Present":
      return ShownFiles.at(current.target.real, ShownFiles.of(current.bytes))
    case "Large":
      return ShownFiles.at(current.target.real, ShownFiles.large(current.size))
    case "Missing":
      return ShownFiles.at(current.target.real, ShownFiles.absent)
    case "Refused":
      return ShownFiles.refused
  }
}

/** What the file at a path holds, read as the tools read it. */
const currentOf = (root: Root.Root, path: string): Effect.Effect<Current> =>
  Effect.gen(function*() {
    const target = yield* Target.locate(root, path)
    if (!target.exists) return { _tag: "Missing", target } as const
    const file = yield* OpenFile.open(root, target.real, path)
    const size = file.bytes
    if (size > (yield* EditFile.MaxFileBytes)) return { _tag: "Large", target, size } as const
    const chunks: Array<Uint8Array> = []
    for (let chunk = yield* file.read; chunk.length > 0; chunk = yield* file.read) chunks.push(new Uint8Array(chunk))
    return { _tag: "Present", target, bytes: Buffer.concat(chunks), size } as const
  }).pipe(
    Effect.scoped,
    Effect.catch((error: ChangeError.Failure) => Effect.succeed({ _tag: "Refused", message: error.message } as const))
  )

/** Shows carriage returns where only some lines have one; where every line has one, says that once. */
const diffOf = (before: string, after: string): string => {
  const breaks = [before, after].flatMap((text) => text.match(/\r?\n|\r/g) ?? [])
  const isCrlf = breaks.length > 0 && breaks.every((it) => it === "\r\n")
  const plain = (text: string) => isCrlf ? text.replaceAll("\r\n", "\n") : text
  return Visible.lines(UnifiedDiff.make(plain(before), plain(after))) + (isCrlf ? "\\ Every line ends with CRLF\n" : "")
}
