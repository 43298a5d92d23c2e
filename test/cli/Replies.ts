/** Answers of a provider on the loopback interface, and the command's environment that leads there. */
import { data, delta, done, events, finish, type Server, toolCalls } from "../support/OpenAiServer.ts"

export const says = (content: string) => events(data(delta({ content }), finish("stop")), done)

/** One message with these calls. */
export const calls = (...asked: ReadonlyArray<readonly [name: string, params: object]>) =>
  events(
    data(
      toolCalls(
        ...asked.map(([name, params], index) => ({
          index,
          id: `call-${index}`,
          type: "function",
          function: { name, arguments: JSON.stringify(params) }
        }))
      ),
      finish("tool_calls")
    ),
    done
  )

export const env = (server: Server) => ({ OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: "key" })

/** What the model was told about its calls, in order. */
export const results = (server: Server): ReadonlyArray<string> =>
  server.requests.at(-1)!.body.messages.filter((message: any) => message.role === "tool").map(({ content }: any) =>
    content
  )
