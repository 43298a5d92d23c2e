/** Prints, as JSON, why there can be no store of sessions in the file that it is started with. */
import * as Effect from "effect/Effect"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"

const [filename = ""] = process.argv.slice(2)
const { reason } = await Effect.runPromise(Effect.flip(Effect.scoped(SessionStoreSqlite.make({ filename }))))

process.stdout.write(JSON.stringify(reason))
