/** Whether strict mode's codec (`toCodecOpenAI`, `toCodecAnthropic`) writes JSON in the form in which the schema itself reads it. */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/**
 * But for `null` in place of what is left out. Records become lists of pairs there, tuples become objects, and what may be anything
 * has no type, which servers refuse.
 */
export const isKept = (schema: Schema.Constraint): boolean =>
  keeps(SchemaAST.toEncoded(Schema.toCodecJson(schema).ast), new Set())

const keeps = (ast: SchemaAST.AST, seen: Set<SchemaAST.AST>): boolean => {
  if (seen.has(ast)) return true
  seen.add(ast)
  const keepsAll = (all: ReadonlyArray<SchemaAST.AST>) => all.every((one) => keeps(one, seen))
  switch (ast._tag) {
    case "Objects": {
      const { indexSignatures, propertySignatures } = ast
      if (propertySignatures.length > 0) {
        return indexSignatures.length === 0 && keepsAll(propertySignatures.map(({ type }) => type))
      }
      // an object of nothing, and not `Schema.Struct({})`, which may be anything
      return indexSignatures.length === 1 && indexSignatures.every(({ type }) => type._tag === "Never")
    }
    case "Arrays":
      return ast.elements.length === 0 && ast.rest.length === 1 && keepsAll(ast.rest)
    case "Union":
      return keepsAll(ast.types)
    case "Suspend":
      return keeps(ast.thunk(), seen)
    case "Any":
    case "Never":
    case "Unknown":
    case "ObjectKeyword":
    case "Declaration":
      return false
    default:
      return true
  }
}
