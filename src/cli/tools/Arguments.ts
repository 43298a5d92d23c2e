/** Arguments of the command's tools: what a tool does not know is refused, since the model or a person meant something by it. */
import * as Schema from "effect/Schema"

/** An object with these members and no others; the failure names one that is too much, and those that there are. */
export const only = <const Fields extends Schema.Struct.Fields>(fields: Fields) => {
  const names = Object.keys(fields)
  const message = `There is no such argument: there ${names.length === 1 ? "is" : "are"} ${names.join(", ")}`
  const other = Schema.String.check(Schema.makeFilter((name) => !names.includes(name)))
  const struct = Schema.Struct(fields)
  const closed = Schema.StructWithRest(struct, [Schema.Record(other, Schema.Never.annotate({ message }))])
  // TypeScript would apply the rest to the members, too
  return closed as unknown as Schema.Codec<
    typeof struct.Type,
    typeof struct.Encoded,
    typeof struct.DecodingServices,
    typeof struct.EncodingServices
  >
}
