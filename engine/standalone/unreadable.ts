/** Why a configuration file could not be read, in words. */

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'this user may not read it',
  ENOTDIR: 'a part of its path is a file, not a folder'
}

/** `error`: what the file system threw when the file was read. */
export function explainUnreadable(path: string, error: NodeJS.ErrnoException): string {
  return `cannot read ${path === '' ? 'a file without a name' : path}: ${REASONS[error.code ?? ''] ?? error.message}`
}
