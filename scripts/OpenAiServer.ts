/**
 * Owns a stand-in for an OpenAI-compatible provider on loopback: `POST /v1/chat/completions`, streamed, as strict about a
 * request as the strictest provider. Does not own what the model says, which is a function of the request.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface Message {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool"
  readonly content?: unknown
  readonly tool_call_id?: string
  readonly tool_calls?: ReadonlyArray<{
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }>
}

/** The part of a chat completion request that a stand-in looks at. */
export interface ChatRequest {
  readonly model: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages: ReadonlyArray<Message>
  readonly tools?: ReadonlyArray<{ readonly type: string; readonly function: { readonly name: string } }>
}

/** What the model says: a text, or calls of tools that the request offers. */
export type Answer =
  | { readonly text: string }
  | { readonly calls: ReadonlyArray<{ readonly name: string; readonly params: unknown }> }

export interface OpenAiServer extends AsyncDisposable {
  /** The base URL for a client, with `/v1`. */
  readonly url: string
  /** Every request that was answered, oldest first. */
  readonly requests: ReadonlyArray<ChatRequest>
  /** Why requests were refused, oldest first. */
  readonly refusals: ReadonlyArray<string>
}

/** Listens until it is disposed. If `answer` throws, the request is refused with an error of status 400. */
export const listen = async (apiKey: string, answer: (request: ChatRequest) => Answer): Promise<OpenAiServer> => {
  const requests: Array<ChatRequest> = []
  const refusals: Array<string> = []
  const server = createServer(async (request, response) => {
    try {
      if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
        throw new Error(`${request.method} ${request.url}: only POST /v1/chat/completions is here`)
      }
      if (request.headers.authorization !== `Bearer ${apiKey}`) {
        throw new Error("the API key is not the one that was given")
      }
      let body = ""
      for await (const chunk of request.setEncoding("utf8")) body += chunk
      const chat: ChatRequest = JSON.parse(body)
      refuseIllegal(chat)
      const sent = [...chunks(chat, answer(chat), requests.push(chat))]
      response.writeHead(200, { "content-type": "text/event-stream" })
      for (const chunk of sent) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      response.end("data: [DONE]\n\n")
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      refusals.push(message)
      response.writeHead(400, { "content-type": "application/json" })
      response.end(JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: null } }))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    refusals,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** The results of the tool calls in a request, oldest first. */
export const toolResults = (request: ChatRequest): ReadonlyArray<string> =>
  request.messages.filter((_) => _.role === "tool").map((_) =>
    typeof _.content === "string" ? _.content : JSON.stringify(_.content)
  )

/** Throws unless calls and results are paired and adjacent in call order, as the strictest providers demand. */
const refuseIllegal = ({ messages, stream }: ChatRequest) => {
  if (stream !== true) throw new Error("stream is not true")
  if (messages.length === 0) throw new Error("messages is empty")
  let open: ReadonlyArray<string> = []
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (message.tool_call_id !== open[0]) {
        throw new Error(`messages[${index}] is not the result of the call ${open[0]}`)
      }
      open = open.slice(1)
    } else {
      if (open.length > 0) throw new Error(`messages[${index}] stands before the results of ${open.join()}`)
      open = message.tool_calls?.map((_) => _.id) ?? []
    }
  }
  if (open.length > 0) throw new Error(`the results of ${open.join()} are missing`)
}

function* chunks(request: ChatRequest, answer: Answer, turn: number) {
  const chunk = (rest: object) => ({
    id: `chatcmpl-${turn}`,
    object: "chat.completion.chunk",
    created: 1_760_000_000 + turn,
    model: request.model,
    ...rest
  })
  const delta = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason, logprobs: null }] })
  yield delta({ role: "assistant", content: "text" in answer ? "" : null })
  if ("text" in answer) {
    for (const word of answer.text.split(/(?<= )/)) yield delta({ content: word })
  } else {
    for (const [index, { name, params }] of answer.calls.entries()) {
      if (!request.tools?.some((_) => _.function.name === name)) throw new Error(`the tool ${name} is not offered`)
      const id = `call_${turn}_${index}`
      yield delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] })
      for (const part of JSON.stringify(params).split(/(?<=:)/)) {
        yield delta({ tool_calls: [{ index, function: { arguments: part } }] })
      }
    }
  }
  yield delta({}, "text" in answer ? "stop" : "tool_calls")
  if (request.stream_options?.include_usage === true) {
    yield chunk({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 } })
  }
}
