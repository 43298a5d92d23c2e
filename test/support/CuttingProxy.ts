/** A door to a server that loses connections, what a client sent having arrived and the answer not, or goes silent. */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface CuttingProxy {
  readonly port: number
  /** Each connection is cut once the server answers on it, `times` times, behind the next `after` answers. */
  readonly cut: (times: number, after?: number) => void
  /** From now on nothing comes through, either way, and no connection is lost. */
  readonly hold: () => void
}

export const make = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let cuts = 0
      let answers = 0
      let isHeld = false
      const sockets = new Set<Socket>()
      const server = createServer((client) => {
        const upstream = connect(port, "127.0.0.1")
        const end = () => {
          client.destroy()
          upstream.destroy()
        }
        for (const socket of [client, upstream]) {
          sockets.add(socket)
          socket.on("error", end).on("close", end)
        }
        client.on("data", (bytes) => isHeld || upstream.write(bytes))
        upstream.on("data", (bytes) => {
          if (isHeld) return
          if (cuts === 0 || answers-- > 0) return void client.write(bytes)
          cuts--
          end()
        })
      }).listen(0, "127.0.0.1")
      await once(server, "listening")
      const close = () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      const proxy: CuttingProxy = {
        port: (server.address() as { readonly port: number }).port,
        cut: (times, after = 0) => {
          cuts = times
          answers = after
        },
        hold: () => {
          isHeld = true
        }
      }
      return { proxy, close }
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ proxy }) => proxy))
