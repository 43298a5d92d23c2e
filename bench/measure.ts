/**
 * One measurement, in this process: `node bench/measure.ts <contender> <scenario>` prints its sample as JSON.
 */
import * as Built from "./harness/Built.ts"
import * as Contenders from "./harness/Contenders.ts"
import * as OneEffect from "./harness/OneEffect.ts"
import * as Options from "./harness/Options.ts"
import * as Scenario from "./harness/Scenario.ts"
import type { Sample } from "./harness/Statistics.ts"

OneEffect.check()
Built.use()
const [contender = "", scenario = ""] = process.argv.slice(2)
const entry = Contenders.all.find(({ name }) => name === contender)
const [work] = Options.select("scenario", Scenario.all, [scenario])
if (entry === undefined || work === undefined) throw new Error(`no contender "${contender}"`)

const { measure } = await import(new URL(`./scenarios/${work.kind}.ts`, import.meta.url).href) as {
  readonly measure: (entry: Contenders.Entry, scenario: Scenario.Scenario) => Promise<Sample>
}
const sample = await measure(entry, work)
process.stdout.write(JSON.stringify(sample), () => process.exit(0))
