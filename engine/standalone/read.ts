/** Reads a configuration from a file or pipe, and says in words why it cannot. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'

/** 5,000 routes with policies are 2 MB. What is longer is no configuration (/dev/zero never ends). */
export const CONFIG_BYTES_MAX = 64 * 1024 * 1024
/** Of a file that a configuration refers to (keys, users): what it says is posted to every worker. */
const REFERENCE_BYTES_MAX = 1024 * 1024
/** Of a document of an API, which stays in the main thread: GitHub's has 13 MB. */
const LARGE_BYTES_MAX = 32 * 1024 * 1024
const PIECE_BYTES = 64 * 1024

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'this user may not read it',
  ENOTDIR: 'a part of its path is a file, not a folder',
  ELOOP: 'its links lead in a circle',
  EFBIG: `it is longer than ${CONFIG_BYTES_MAX >> 20} MiB, so it is no configuration`
}

/** The text of a file, of a pipe, or of an open descriptor. Throws the system's error, or one with code EFBIG. */
export function readConfig(from: string | number): string {
  return readText(from, CONFIG_BYTES_MAX, { code: 'EFBIG' })
}

/** The text of a file that a configuration refers to. Throws the system's error, or one that says it in words. */
export function readReference(path: string): string {
  return readRegular(path, REFERENCE_BYTES_MAX)
}

/** The same for what is larger and is not posted to workers. */
export function readLarge(path: string): string {
  return readRegular(path, LARGE_BYTES_MAX)
}

/** As readConfig and readReference, for looking again at a path that may lead to something else by now. */
export function readAgain(path: string): string {
  return readRegular(path, CONFIG_BYTES_MAX)
}

/** Only regular files: others may have no end, and opening a pipe waits for a writer. */
function readRegular(path: string, bytesMax: number): string {
  // Opening a device may already do something, so it is looked at before; and again what has been opened.
  checkRegular(statSync(path), bytesMax)
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    checkRegular(fstatSync(file), bytesMax)
    return readText(file, bytesMax, { message: tooLongText(bytesMax) })
  } finally {
    closeSync(file)
  }
}

function checkRegular(stat: Stats, bytesMax: number): void {
  // A folder has its own words, when it is read.
  if (!stat.isFile() && !stat.isDirectory()) throw new Error('it is not a regular file')
  if (stat.isFile() && stat.size > bytesMax) throw new Error(tooLongText(bytesMax))
}

function tooLongText(bytesMax: number): string {
  return `it is longer than ${bytesMax >> 20} MiB`
}

/** `tooLong`: properties of the Error for what has more than `bytesMax` bytes. */
function readText(from: string | number, bytesMax: number, tooLong: Partial<NodeJS.ErrnoException>): string {
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
      if (total > bytesMax) throw Object.assign(new Error('too long'), tooLong)
    }
  } finally {
    if (file !== from) closeSync(file)
  }
}

/** `error`: what was thrown when the file was read. */
export function explainUnreadable(path: string, error: NodeJS.ErrnoException): string {
  return `cannot read ${path === '' ? 'a file without a name' : path}: ${REASONS[error.code ?? ''] ?? error.message}`
}
