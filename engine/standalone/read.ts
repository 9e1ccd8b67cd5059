/** Reads a configuration from a file or pipe, and says in words why it cannot. */
import { closeSync, openSync, readSync } from 'node:fs'

/** 5,000 routes with policies are 2 MB. What is longer is no configuration (/dev/zero never ends). */
export const CONFIG_BYTES_MAX = 64 * 1024 * 1024
const PIECE_BYTES = 64 * 1024

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'this user may not read it',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EFBIG: `it is longer than ${CONFIG_BYTES_MAX >> 20} MiB, so it is no configuration`
}

/** The text of a file, of a pipe, or of an open descriptor. Throws the system's error, or one with code EFBIG. */
export function readConfig(from: string | number): string {
  const file = typeof from === 'number' ? from : openSync(from, 'r')
  try {
    const pieces: Buffer[] = []
    let total = 0
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE_BYTES)
      const count = readSync(file, piece)
      if (count === 0) return Buffer.concat(pieces).toString('utf8')
      pieces.push(piece.subarray(0, count))
      total += count
      if (total > CONFIG_BYTES_MAX) throw Object.assign(new Error('too long'), { code: 'EFBIG' })
    }
  } finally {
    if (file !== from) closeSync(file)
  }
}

/** `error`: what was thrown when the file was read. */
export function explainUnreadable(path: string, error: NodeJS.ErrnoException): string {
  return `cannot read ${path === '' ? 'a file without a name' : path}: ${REASONS[error.code ?? ''] ?? error.message}`
}
