/** What a handler may hold in its scope: a server, a connection to it, both ends, and a timer. */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"

/** All of it, until the scope has closed. */
export const hold = Effect.gen(function*() {
  const server = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer()
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      return server
    }),
    (server) =>
      Effect.promise(async () => {
        await new Promise((resolve) => server.close(resolve))
        // the handle is closed at the end of a turn of the event loop, after what setImmediate runs
        for (const _ of Array(2)) await new Promise((resolve) => setImmediate(resolve))
      })
  )
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const accepted = once(server, "connection")
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
      await Promise.all([accepted, once(socket, "connect")])
      const [far] = await accepted
      return [socket, far.resume()]
    }),
    (ends) =>
      Effect.promise(() =>
        Promise.all(ends.map((end) => {
          const closed = once(end, "close")
          end.destroy()
          return closed
        }))
      )
  )
  yield* Effect.acquireRelease(
    Effect.sync(() => setInterval(() => {}, 1_000_000)),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
})
