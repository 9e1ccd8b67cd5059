/**
 * PEM texts as paths, for a library that reads files: each text is in a file without a name, which the kernel forgets
 * with its descriptor. It is made with mode 0600 in memory (tmpfs) where there is any, and loses its name before a byte
 * is written: nothing of a key is ever found by a path, not after a crash either.
 */

import { randomUUID } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** Where Linux names the open files of a process. */
const DESCRIPTORS = '/proc/self/fd'

/** Whether this system can do that. */
export function hasPemFiles(): boolean {
  return existsSync(DESCRIPTORS)
}

/** Calls `use` with a path for each text; the paths are worth nothing afterwards. Throws the system's errors. */
export function withPemFiles<T>(texts: readonly string[], use: (paths: readonly string[]) => T): T {
  const open: number[] = []
  try {
    for (const text of texts) {
      const descriptor = nameless()
      open.push(descriptor)
      writeAll(descriptor, Buffer.from(text))
    }
    return use(open.map((descriptor) => `${DESCRIPTORS}/${descriptor}`))
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}

function nameless(): number {
  const path = join(existsSync(MEMORY) ? MEMORY : tmpdir(), `weir-${randomUUID()}`)
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600)
  unlinkSync(path)
  return descriptor
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
}
