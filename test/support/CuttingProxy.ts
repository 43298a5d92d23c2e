/** A door to a server that drops connections whether or not the client's data arrived, goes silent, or is shut. */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

/** The last thing that comes through: what was there before, the request, or its answer. */
export type Last = "nothing" | "request" | "answer"

export interface CuttingProxy {
  readonly port: number
  /**
   * Each connection is cut once the server answers on it, `times` times, after the next `after` answers; if the last
   * thing is to be nothing, once the client asks, and after the next questions.
   */
  readonly cut: (times: number, after?: number, last?: Last) => void
  /** how often connections are still to be cut */
  readonly cuts: () => number
  /** From now on nothing comes through in either direction, and no connection is dropped. */
  readonly hold: () => void
  /** Every connection is dropped, and none is accepted. */
  readonly shut: Effect.Effect<void>
  /** Nothing is held, cut or shut any more; connections from before are dropped. */
  readonly open: Effect.Effect<void>
}

/** Ports that no system hands out by itself (those of Linux begin at 32,768): one whose door is shut stays free. */
const ports = { first: 20_000, count: 12_000 }

/** How far this process has come with them, using each once; others start elsewhere. */
let taken = Math.floor(Math.random() * ports.count)

/** Connections are cut at requests that count, by default all of them. */
export const make = (port: number, counts: (request: string) => boolean = () => true) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let cuts = 0
      let passes = 0
      let last: Last = "request"
      let isHeld = false
      const sockets = new Set<Socket>()
      /** Whether a connection is cut here. */
      const isCut = (request: string, here: ReadonlyArray<Last>): boolean => {
        if (cuts === 0 || !here.includes(last) || !counts(request) || passes-- > 0) return false
        cuts--
        return true
      }
      const server = createServer((client) => {
        const upstream = connect(port, "127.0.0.1")
        let request = ""
        const end = () => {
          client.destroy()
          upstream.destroy()
        }
        for (const socket of [client, upstream]) {
          sockets.add(socket)
          socket.on("error", end).on("close", () => {
            sockets.delete(socket)
            end()
          })
        }
        client.on("data", (bytes) => {
          if (isHeld) return
          request = bytes.toString("latin1")
          if (isCut(request, ["nothing"])) end()
          else upstream.write(bytes)
        })
        upstream.on("data", (bytes) => {
          if (isHeld) return
          if (!isCut(request, ["request", "answer"])) return void client.write(bytes)
          if (last === "answer") client.write(bytes, end)
          else end()
        })
      })
      const listen = async (at: number) => {
        server.listen(at, "127.0.0.1")
        await once(server, "listening")
      }
      const listenAnywhere = async (): Promise<number> => {
        const at = ports.first + taken++ % ports.count
        try {
          await listen(at)
          return at
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error
          return listenAnywhere()
        }
      }
      const lose = () => {
        for (const socket of sockets) socket.destroy()
      }
      const own = await listenAnywhere()
      const proxy: CuttingProxy = {
        port: own,
        cut: (times, after = 0, what = "request") => {
          cuts = times
          passes = after
          last = what
        },
        cuts: () => cuts,
        hold: () => {
          isHeld = true
        },
        shut: Effect.sync(() => {
          server.close()
          lose()
        }),
        open: Effect.promise(async () => {
          if (isHeld) lose()
          isHeld = false
          cuts = 0
          if (!server.listening) await listen(own)
        })
      }
      const close = () => {
        server.close()
        lose()
      }
      return { proxy, close }
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ proxy }) => proxy))
