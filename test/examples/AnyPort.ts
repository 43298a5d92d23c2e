/** Preloaded into child processes: servers listen on a free port instead of their own, and report it. */
import { type ListenOptions, Server } from "node:net"

const listen = Server.prototype.listen

Server.prototype.listen = function(this: Server, options: ListenOptions, ...rest: ReadonlyArray<never>) {
  this.once("listening", () => {
    const place = this.address()
    if (typeof place === "object") console.log(`listens on ${place?.address}\nat port ${place?.port}.`)
  })
  return listen.call(this, { ...options, port: 0 }, ...rest)
} as typeof listen
