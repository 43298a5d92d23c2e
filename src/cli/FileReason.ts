/** Why a file or a pipe cannot be read or written, in words instead of Node's codes. Does not own which file that is. */

const reasons: Record<string, string> = {
  ENOENT: "it does not exist",
  ENOTDIR: "its folder is a file",
  EISDIR: "it is a folder",
  EACCES: "this user may not",
  EPERM: "this user may not",
  ENOSPC: "the disk is full",
  EDQUOT: "this user's share of the disk is full",
  EFBIG: "no file may be that large"
}

/** The words for a code, or the code itself where it is not known. */
export const of = (code: string): string => reasons[code] ?? code
