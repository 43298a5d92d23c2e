/** An HTTP server on the loopback interface, on its own port, until its scope closes; open connections end with it. */
import { Effect, type Scope } from "effect"
import type * as Http from "node:http"
import type { AddressInfo } from "node:net"

/** Listens, and returns the host with its port. */
export const listen = (server: Http.Server): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.promise(() =>
        new Promise((resolve) => {
          server.close(resolve)
          server.closeAllConnections()
        })
      )
  ).pipe(Effect.map(() => `127.0.0.1:${(server.address() as AddressInfo).port}`))
