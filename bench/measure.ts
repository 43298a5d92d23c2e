/**
 * One measurement, in this process: `node --expose-gc bench/measure.ts <contender> <scenario>` prints its sample as JSON. Then
 * checks what counts alone do not show.
 */
import * as Built from "./harness/Built.ts"
import * as Contenders from "./harness/Contenders.ts"
import * as Counts from "./harness/Counts.ts"
import * as OneEffect from "./harness/OneEffect.ts"
import * as Options from "./harness/Options.ts"
import * as Scenario from "./harness/Scenario.ts"
import type { Sample } from "./harness/Statistics.ts"

const read = () => {
  const [contender = "", scenario = ""] = process.argv.slice(2)
  try {
    const [entry] = Options.select("contender", Contenders.all, [`=${contender}`])
    const [work] = Options.select("scenario", Scenario.all, [`=${scenario}`])
    return { entry: entry!, work: work! }
  } catch (error) {
    console.error(String(error))
    process.exit(2)
  }
}

OneEffect.check()
Built.use()
const { entry, work } = read()
const { measure } = await import(new URL(`./scenarios/${work.kind}.ts`, import.meta.url).href) as {
  readonly measure: (entry: Contenders.Entry, scenario: Scenario.Scenario) => Promise<Sample>
}
const sample = await measure(entry, work)
await Counts.prove(await Contenders.load(entry), work.script)
process.stdout.write(JSON.stringify(sample), () => process.exit(0))
