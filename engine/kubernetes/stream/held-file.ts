/**
 * What a data plane keeps for the one after it: the last draft that was in force, and the endpoints. Sealed, since
 * drafts hold the keys of backends and certificates: AES-256-GCM (NIST SP 800-38D), its key by HKDF-SHA-256 (RFC 5869)
 * from what is not on that disk.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, fsync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { VERSION } from '#engine/contract/version.ts'
import { heldOf, heldRecords } from './held-records.ts'
import type { GatewayName } from './published.ts'
import type { Held } from './received.ts'

const FILE = 'held.weir'
const IV_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

const onDisk = promisify(fsync)

export class HeldFile {
  readonly #path: string
  readonly #key: Uint8Array
  /** What was kept for another Gateway, or by another version of the program, cannot be opened. */
  readonly #context: Buffer
  /** The newest that writes. */
  #turn = 0

  constructor(folder: string, key: string, gateway: GatewayName) {
    this.#path = join(folder, FILE)
    this.#key = new Uint8Array(hkdfSync('sha256', key, 'weir', 'held by a data plane 1', 32))
    this.#context = Buffer.from(`${VERSION} ${gateway}`)
  }

  /** Throws an Error of the system. A reader sees the file as it was, or as it is now. */
  write(held: Held): void {
    for (const file of this.#written(held)) if (file !== null) fsyncSync(file)
  }

  /**
   * As write, a record at a time, each in its own turn of the event loop. Calls of write and writeSoon meanwhile put
   * theirs in its place, and this one stops.
   */
  async writeSoon(held: Held): Promise<void> {
    for (const file of this.#written(held)) await (file === null ? setImmediate() : onDisk(file))
  }

  /**
   * In pieces: what is sealed of a large configuration is not in memory a second time. Yields null between them, and
   * at last the file, which has to be on disk before it is the one that is read.
   */
  *#written(held: Held): Iterable<number | null> {
    const turn = ++this.#turn
    const next = `${this.#path}.next`
    const file = openSync(next, 'w', 0o600)
    try {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES })
      cipher.setAAD(this.#context)
      const write = (bytes: Uint8Array) => writeFileSync(file, bytes)
      write(iv)
      write(new Uint8Array(TAG_BYTES))
      for (const record of heldRecords(held)) {
        write(cipher.update(record))
        yield null
        if (turn !== this.#turn) return
      }
      write(cipher.final())
      // Known at the end, and in front of the rest for readers.
      writeSync(file, cipher.getAuthTag(), 0, TAG_BYTES, IV_BYTES)
      yield file
      if (turn !== this.#turn) return
    } finally {
      closeSync(file)
    }
    renameSync(next, this.#path)
  }

  /** Null: there is none. Throws an Error that says why it cannot be used. */
  read(): Held | null {
    const bytes = this.#bytes()
    if (bytes === null) return null
    const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)]
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES })
      decipher.setAAD(this.#context)
      decipher.setAuthTag(tag)
      const clear = [decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]
      return heldOf(Buffer.concat(clear))
    } catch {
      throw new Error(`${this.#path} was written with another key, for another Gateway or version, or is damaged`)
    }
  }

  #bytes(): Buffer | null {
    try {
      return readFileSync(this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }
}
