/** Who answers here, as the log names them. What anybody else answered is news to whoever watches the run. */

export const flag = "--yes"
export const nobody = "no terminal"
export const rule = "rule"
export const person = "terminal"

const here: ReadonlyArray<string | undefined> = [flag, nobody, rule, person]

/** Where nobody was asked. */
export const isNoPerson = (by: string | undefined): boolean => by === flag || by === nobody

export const isHere = (by: string | undefined): boolean => here.includes(by)
