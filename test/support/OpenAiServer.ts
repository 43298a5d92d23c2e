/**
 * A server on the loopback interface that answers chat completions with given bytes, and what a test needs to call it.
 *
 * Owns the socket: when pieces are written, and whether the response ends, stays open or is reset. Judges nothing.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Config from "effect/Config"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Http from "node:http"
import type { Socket } from "node:net"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as Loopback from "./Loopback.ts"

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Written one after the other, each once the one before has left. */
  readonly pieces: ReadonlyArray<string | Uint8Array>
  /** `late`: a few turns of the event loop after the last piece, so that a client has read that piece alone */
  readonly ending: "end" | "late" | "open" | "reset"
}

export interface Request {
  readonly url: string
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
  readonly body: any
  /** The number of the connection it came over. */
  readonly connection: number
}

export interface Server {
  readonly baseUrl: string
  readonly host: string
  readonly requests: ReadonlyArray<Request>
  /** Completes when a whole request has arrived. */
  readonly received: Deferred.Deferred<void>
  /** Completes when a client leaves a response that the server has not ended. */
  readonly left: Deferred.Deferred<void>
  /** Connections that are open. */
  readonly open: () => number
  /** Ends every response that is open. */
  readonly end: Effect.Effect<void>
  /** Resets every connection. */
  readonly reset: Effect.Effect<void>
}

const ok = { status: 200, headers: { "content-type": "text/event-stream" } }

/** A stream that ends as it should. */
export const events = (...pieces: ReadonlyArray<string | Uint8Array>): Reply => ({ ...ok, pieces, ending: "end" })
/** The same, whose end arrives by itself. */
export const late = (...pieces: ReadonlyArray<string | Uint8Array>): Reply => ({ ...ok, pieces, ending: "late" })
/** A stream whose socket stays open. */
export const open = (...pieces: ReadonlyArray<string | Uint8Array>): Reply => ({ ...ok, pieces, ending: "open" })
/** A stream whose socket is reset. */
export const reset = (...pieces: ReadonlyArray<string | Uint8Array>): Reply => ({ ...ok, pieces, ending: "reset" })
/** An answer with a status: an object is sent as JSON. */
export const status = (code: number, body: object | string, headers: Record<string, string> = {}): Reply => ({
  status: code,
  headers: { "content-type": typeof body === "string" ? "text/plain" : "application/json", ...headers },
  pieces: [typeof body === "string" ? body : JSON.stringify(body)],
  ending: "end"
})

/** One event of a stream for each payload. */
export const data = (...payloads: ReadonlyArray<unknown>): string =>
  payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join("")
export const done = "data: [DONE]\n\n"

const chunk = (fields: object) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "m-1",
  ...fields
})
export const delta = (fields: object) => chunk({ choices: [{ index: 0, delta: fields, finish_reason: null }] })
export const finish = (reason: string, usage?: object) =>
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }], ...(usage === undefined ? {} : { usage }) })
export const usage = (fields: object) => chunk({ choices: [], usage: fields })
export const toolCalls = (...calls: ReadonlyArray<object>) => delta({ tool_calls: calls })

/** An answer that never begins. */
export const silence: Reply = { ...ok, status: 0, pieces: [], ending: "open" }

/** A server that gives its replies in turn, repeating the last; a function is called with what was sent. */
export const make = (
  ...replies: ReadonlyArray<Reply | ((body: any) => Reply)>
): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function*() {
    const requests: Array<Request> = []
    const received = yield* Deferred.make<void>()
    const left = yield* Deferred.make<void>()
    const sockets: Array<Socket> = []
    const responses: Array<Http.ServerResponse> = []
    const server = Http.createServer((request, response) => {
      responses.push(response)
      response.on("close", () => {
        if (!response.writableFinished) Deferred.doneUnsafe(left, Effect.void)
      })
      const chunks: Array<Buffer> = []
      request.on("data", (bytes) => chunks.push(bytes))
      request.on("end", async () => {
        const text = Buffer.concat(chunks).toString()
        const connection = sockets.indexOf(request.socket) + 1
        requests.push({ url: request.url ?? "", headers: request.headers, text, body: JSON.parse(text), connection })
        Deferred.doneUnsafe(received, Effect.void)
        const given = replies[Math.min(requests.length, replies.length) - 1]
        const reply = typeof given === "function" ? given(JSON.parse(text)) : given
        if (reply === undefined || reply === silence) return
        response.writeHead(reply.status, reply.headers)
        response.flushHeaders()
        for (const piece of reply.pieces) {
          await new Promise((resolve) => response.write(piece, resolve))
        }
        if (reply.ending === "late") {
          for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
        }
        if (reply.ending === "end" || reply.ending === "late") response.end()
        if (reply.ending === "reset") request.socket.resetAndDestroy()
      })
    })
    server.on("connection", (socket: Socket) => sockets.push(socket))
    const host = yield* Loopback.listen(server)
    const end = Effect.sync(() => responses.forEach((response) => response.end()))
    const reset = Effect.sync(() => sockets.forEach((socket) => socket.resetAndDestroy()))
    const open = () => sockets.filter((socket) => !socket.destroyed).length
    return { baseUrl: `http://${host}/v1`, host, requests, received, left, open, end, reset }
  })

export const key = Redacted.make("sk-secret-0123456789")

/** The model of a server, over undici. */
export const model = (
  server: Pick<Server, "baseUrl">,
  options: Partial<LanguageModelOpenAi.Options> = {}
): Layer.Layer<LanguageModel.LanguageModel, Config.ConfigError> =>
  LanguageModelOpenAi.layer({ model: "m-1", baseUrl: server.baseUrl, apiKey: key, ...options }).pipe(
    Layer.provide(NodeHttpClient.layerUndici)
  )

export type Part = Response.StreamPart<Record<string, Tool.Any>, "deferred">

export interface Call {
  readonly prompt?: Prompt.RawInput
  readonly toolkit?: Toolkit.WithHandler<any>
  readonly toolChoice?: LanguageModel.ToolChoice<string>
}

/** A call as the runtime makes it: tool calls come out as they are. */
export const stream = (call: Call = {}): Stream.Stream<Part, AiError.AiError, LanguageModel.LanguageModel> =>
  LanguageModel.streamText({
    prompt: "hello",
    ...call,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  } as never) as never

/** The parts that came, and the failure that ended them, if one did. */
export const outcome = (call: Call = {}) =>
  Effect.gen(function*() {
    const parts: Array<Part> = []
    const error = yield* stream(call).pipe(
      Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(error))
    )
    return { parts, error }
  })

/** Uses a server through its model. The client lives until the use is over: the call closes sockets within it. */
export const using = <A, E>(
  reply: Reply,
  use: (server: Server) => Effect.Effect<A, E, LanguageModel.LanguageModel>
): Effect.Effect<A, E | Config.ConfigError, Scope.Scope> =>
  Effect.flatMap(make(reply), (server) => Effect.provide(use(server), model(server)))

/** The result of a reply. */
export const answer = (reply: Reply, options: Partial<LanguageModelOpenAi.Options> = {}) =>
  Effect.flatMap(make(reply), (server) => Effect.provide(outcome(), model(server, options)))

/** The error of a reply; a call that succeeds is a defect. */
export const failure = (reply: Reply, options: Partial<LanguageModelOpenAi.Options> = {}) =>
  Effect.flatMap(
    answer(reply, options),
    ({ error }) => error === undefined ? Effect.die("the call succeeded") : Effect.succeed(error)
  )

export const text = (parts: ReadonlyArray<Part>): string =>
  parts.map((part) => part.type === "text-delta" ? part.delta : "").join("")
export const reasoning = (parts: ReadonlyArray<Part>): string =>
  parts.map((part) => part.type === "reasoning-delta" ? part.delta : "").join("")
export const calls = (parts: ReadonlyArray<Part>) =>
  parts.filter((part) => part.type === "tool-call").map(({ id, name, params }) => ({ id, name, params }))
export const finishOf = (parts: ReadonlyArray<Part>) => parts.find((part) => part.type === "finish")
export const types = (parts: ReadonlyArray<Part>): ReadonlyArray<string> => parts.map((part) => part.type)
