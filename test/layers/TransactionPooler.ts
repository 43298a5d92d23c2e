/**
 * A proxy to a Postgres that lends connections per transaction, as poolers in that mode do: what a client leaves on one,
 * a prepared statement or a LISTEN, is not there on the next. Lets everybody in, and nobody without a password.
 */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface TransactionPooler {
  readonly port: number
}

/** A message of the protocol as received: its type and all of its bytes. */
interface Message {
  readonly type: string
  readonly bytes: Buffer
}

/** Cuts the incoming bytes into messages; a client's first has no type, which is a space here. */
const messages = (socket: Socket, isClient: boolean, take: (message: Message) => void) => {
  let pieces: Array<Buffer> = []
  let held = 0
  /** bytes needed for the next step: a head, or the message that it announced */
  let needed = 5
  let isTyped = !isClient
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece)
    held += piece.length
    while (held >= needed) {
      const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      pieces = [bytes]
      needed = isTyped ? 1 + bytes.readInt32BE(1) : bytes.readInt32BE(0)
      if (held < needed) return
      const message = { type: isTyped ? String.fromCharCode(bytes[0]!) : " ", bytes: bytes.subarray(0, needed) }
      pieces = [bytes.subarray(needed)]
      held -= needed
      needed = 5
      isTyped = true
      take(message)
    }
  })
}

/** A connection to the server, and its borrower. */
interface Lent {
  readonly socket: Socket
  /** what the server sent on login */
  readonly greeting: Buffer
  to: Borrower | undefined
}

interface Borrower {
  readonly socket: Socket
  /** requests that the server has not answered yet */
  asked: number
  lent: Lent | undefined
  /** what arrived while it waits for a connection */
  readonly waiting: Array<Message>
}

/** Shares this many connections to the server in turn. */
export const make = (port: number, connections = 2) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const free: Array<Lent> = []
      const queue: Array<Borrower> = []
      const known = (socket: Socket) => {
        sockets.add(socket)
        return socket.setNoDelay().on("error", () => socket.destroy()).on("close", () => sockets.delete(socket))
      }

      const lend = () => {
        while (queue.length > 0 && free.length > 0) {
          const [lent, borrower] = [free.shift()!, queue.shift()!]
          lent.to = borrower
          borrower.lent = lent
          for (const message of borrower.waiting.splice(0)) ask(borrower, lent, message)
        }
      }
      const ask = (borrower: Borrower, lent: Lent, { bytes, type }: Message) => {
        if (type === "S" || type === "Q") borrower.asked++
        lent.socket.write(bytes)
      }
      const answer = (lent: Lent, { bytes, type }: Message) => {
        const borrower = lent.to
        borrower?.socket.write(bytes)
        if (borrower === undefined || type !== "Z") return
        borrower.asked--
        if (bytes[5] !== "I".charCodeAt(0) || borrower.asked > 0) return
        borrower.lent = undefined
        lent.to = undefined
        free.push(lent)
        lend()
      }

      const dial = (startup: Buffer) =>
        new Promise<Lent>((resolve) => {
          const greeting: Array<Buffer> = []
          let lent: Lent | undefined
          const socket = known(connect(port, "127.0.0.1"))
          socket.write(startup)
          messages(socket, false, (message) => {
            if (lent !== undefined) return answer(lent, message)
            greeting.push(message.bytes)
            if (message.type === "Z") resolve(lent = { socket, greeting: Buffer.concat(greeting), to: undefined })
          })
        })

      let dialled: Promise<ReadonlyArray<Lent>> | undefined
      const server = createServer((socket) => {
        const borrower: Borrower = { socket: known(socket), asked: 0, lent: undefined, waiting: [] }
        messages(socket, true, (message) => {
          if (message.type === " ") {
            dialled ??= Promise.all(Array.from({ length: connections }, () => dial(message.bytes))).then((made) => {
              free.push(...made)
              return made
            })
            return void dialled.then(([first]) => socket.write(first!.greeting))
          }
          if (message.type === "X") return void socket.end()
          if (borrower.lent !== undefined) return ask(borrower, borrower.lent, message)
          borrower.waiting.push(message)
          if (!queue.includes(borrower)) queue.push(borrower)
          lend()
        })
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const close = () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      return { pooler: { port: (server.address() as { readonly port: number }).port }, close }
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ pooler }): TransactionPooler => pooler))
