/** Why a file or a pipe cannot be read or written, in words instead of Node's codes. Does not own which file that is. */

const reasons: Record<string, string> = {
  ENOENT: "it does not exist",
  EEXIST: "a file is in its place",
  ENOTDIR: "its folder is a file",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOSPC: "the disk is full",
  EDQUOT: "this user's disk quota is used up",
  EFBIG: "it is too large for the file system"
}

/** The words for a code, or the code itself where it is not known. */
export const of = (code: string): string => reasons[code] ?? code
