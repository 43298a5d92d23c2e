/** Examples that are servers, each as a process of its own: who can reach them where nobody says. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { data, delta, done, events, finish, make } from "../support/OpenAiServer.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Example from "./Example.ts"

const anyPort = new URL("./AnyPort.ts", import.meta.url).href
const answer = events(data(delta({ content: "Yes." }), finish("stop")), done)

const listens = Effect.fnUntraced(function*(name: string, address: string, env: Readonly<Record<string, string>>) {
  const model = yield* make(answer)
  const folder = yield* temporaryFolder
  const example = yield* Example.start({ name, model, folder, env: { NODE_OPTIONS: `--import=${anyPort}`, ...env } })
  const where = `listens on ${address}\n`
  const ended = Effect.map(example.result, ({ out }) => assert.include(out, where))
  yield* Effect.raceFirst(example.wrote(where), ended)
})

it.live.each(["http-server.ts", "use-chat.ts", "observability.ts"])(
  "%s listens for this machine alone, unless the variable HOST says otherwise",
  (name) =>
    Effect.andThen(
      listens(name, "127.0.0.1", { HOST: "" }),
      listens(name, "0.0.0.0", { HOST: "0.0.0.0" })
    )
)
