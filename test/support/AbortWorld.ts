/**
 * What a run may have open outside its process, or its fibers, when it is aborted: a real connection to a provider in
 * each of its phases, and real child processes of `run_command`, from tame to wild.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { type AddressInfo, createServer, type Socket } from "node:net"
import * as RunCommand from "../../src/cli/tools/command/RunCommand.ts"
import * as Root from "../../src/cli/tools/files/Root.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import type * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as AbortPhase from "./AbortPhase.ts"
import { beacon, isAlive } from "./Beacon.ts"
import * as OpenAiServer from "./OpenAiServer.ts"
import { temporaryFolder } from "./Processes.ts"
import * as TestAgent from "./TestAgent.ts"

export interface World extends Pick<AbortPhase.Phase, "around" | "begins" | "named" | "runId"> {
  readonly turns: ReadonlyArray<ScriptedModel.Turn>
  readonly options: TestAgent.Options
  readonly reached: (agent: TestAgent.TestAgent["agent"]) => Effect.Effect<unknown>
  /** how much of it is open */
  readonly open: () => number
  /** how much of it an abort leaves open, whether named or not */
  readonly kept: number
  /** what brings an abort to its end if that takes time */
  readonly passTime: Effect.Effect<unknown>
}

type Make = Effect.Effect<World, never, Scope.Scope>

interface Provider extends Pick<OpenAiServer.Server, "baseUrl" | "open"> {
  readonly reached: World["reached"]
  readonly around?: World["around"]
  readonly kept?: number
}

const connectedTo = ({ baseUrl, kept = 0, open, reached, around = AbortPhase.plain.around }: Provider): World => ({
  ...AbortPhase.plain,
  turns: [],
  options: { model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl, apiKey: OpenAiServer.key })) },
  around,
  reached,
  open,
  kept,
  passTime: Effect.void
})

/** Accepts connections and says nothing: a client that wants TLS is not connected yet. */
const mute: Make = Effect.gen(function*() {
  const sockets: Array<Socket> = []
  const connected = yield* Deferred.make<void>()
  const server = yield* Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<ReturnType<typeof createServer>>((resolve) => {
        const server = createServer((socket) => {
          sockets.push(socket.on("error", () => {}))
          Deferred.doneUnsafe(connected, Effect.void)
        }).listen(0, "127.0.0.1", () => resolve(server))
      })
    ),
    (server) =>
      Effect.promise(() =>
        new Promise((resolve) => {
          server.close(resolve)
          for (const socket of sockets) socket.destroy()
        })
      )
  )
  return connectedTo({
    baseUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    open: () => sockets.filter((socket) => !socket.destroyed).length,
    // The platform's fetch keeps connecting, for its pool, until it gives up by itself; no request is sent.
    kept: 1,
    reached: () => Deferred.await(connected)
  })
})

/** The head of an answer has arrived. */
const answered = Effect.map(Deferred.make<void>(), (head) => ({
  reached: () => Deferred.await(head),
  around: Effect.provideService(FetchHttpClient.Fetch, async (...args) => {
    const response = await globalThis.fetch(...args)
    Deferred.doneUnsafe(head, Effect.void)
    return response
  })
}))

export const providers: Record<string, Make> = {
  "connecting to its provider": mute,
  "waiting for the head of an answer": Effect.map(
    OpenAiServer.make(OpenAiServer.silence),
    (server) => connectedTo({ ...server, reached: () => Deferred.await(server.received) })
  ),
  "waiting for the first part of an answer": Effect.gen(function*() {
    const server = yield* OpenAiServer.make(OpenAiServer.open(": wait\n\n"))
    return connectedTo({ ...server, ...(yield* answered) })
  }),
  "reading an answer": Effect.map(
    OpenAiServer.make(OpenAiServer.open(OpenAiServer.data(OpenAiServer.delta({ content: "Once upon" })))),
    (server) =>
      connectedTo({
        ...server,
        reached: (agent) =>
          Deferred.await(server.received).pipe(
            Effect.andThen(agent.live("r", "s")),
            Effect.flatMap((run) => Stream.runDrain(Stream.takeUntil(run!.events, ({ _tag }) => _tag === "TextDelta"))),
            Effect.orDie
          )
      })
  )
}

interface Command {
  /** writes the pids of its processes to `$1`, and waits */
  readonly script: string
  /** reports SIGTERM there, and continues */
  readonly isStubborn?: boolean
  /** cannot be found */
  readonly named?: ReadonlyArray<string>
}

const stubborn = `trap "echo term > $1" TERM; echo $$ > $1; while :; do sleep 1000 & wait $!; done`

const running = ({ isStubborn = false, named = [], script }: Command): Make =>
  Effect.gen(function*() {
    const root = yield* Effect.orDie(Root.make(yield* temporaryFolder))
    const { line, path } = yield* beacon
    const pids: Array<number> = []
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL")
      })
    )
    const command = ["sh", "-c", script, "sh", path] as const
    return {
      ...AbortPhase.plain,
      turns: [TestAgent.work(1)],
      options: { tool: () => Effect.as(Effect.orDie(RunCommand.handler(root)({ command })), "done after all") },
      named,
      reached: () => Effect.map(line, (told) => void pids.push(...told.trim().split(" ").map(Number))),
      open: () => pids.filter(isAlive).length,
      kept: named.length,
      // half the grace period
      passTime: isStubborn ? Effect.andThen(line, TestClock.adjust("2500 millis")) : Effect.void
    }
  })

export const commands: Record<string, Make> = {
  "a process that ends when it is told to": running({ script: `echo $$ > "$1"; exec sleep 1000` }),
  "a process that ignores SIGTERM": running({ script: stubborn, isStubborn: true }),
  "a grandchild that holds the output": running({
    script: `sh -c 'sleep 1000 & echo $PPID $$ $! > "$1"; wait' sh "$1" & wait`
  }),
  "a grandchild that left its process group": running({
    script: `(setsid sh -c 'sleep 1000 & echo $$ $! > "$1"; wait' sh "$1" &); exec sleep 1000`
  }),
  "a grandchild that left its process group and ignores SIGTERM": running({
    script: `exec > /dev/null; (setsid sh -c '${stubborn}' sh "$1" &); exec sleep 1000`,
    isStubborn: true
  }),
  "a grandchild that cannot be found": running({
    script: `(env -i PATH="$PATH" setsid sh -c 'echo $$ > "$1"; exec sleep 1000' sh "$1" &); exec sleep 1000`,
    named: ["process of run_command"]
  })
}
