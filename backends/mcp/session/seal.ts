/**
 * What the gateway gives to clients to keep for it: encrypted and authenticated, so that any worker and any replica
 * with the key opens it, and no one else can read or change it. AES-256-GCM (NIST SP 800-38D), key by HKDF-SHA-256
 * (RFC 5869).
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { Packr } from 'msgpackr/pack'

/** Plain MessagePack, no records: a seal is opened by another process than the one that closed it. */
const packr = new Packr({ useRecords: false })

const IV_BYTES = 12
const TAG_BYTES = 16

export class Seal {
  readonly #key: Buffer
  readonly #place: Buffer
  /** The same for the same key and place, and says nothing of either. */
  readonly mark: string

  /**
   * `key`: of the configuration, or null for `secret`, that of the process. `place` is authenticated with everything:
   * what was sealed for one (a backend's sessions) is unreadable in another.
   */
  constructor(key: string | null, secret: Uint8Array, place: string) {
    const material = key === null ? secret : Buffer.from(key, 'utf8')
    this.#key = Buffer.from(hkdfSync('sha256', material, 'weir', 'mcp seal 1', 32))
    this.#place = Buffer.from(place)
    this.mark = createHmac('sha256', this.#key).update(this.#place).digest('base64url')
  }

  /** base64url of iv, ciphertext and tag. `value` is what JSON can say; as MessagePack, for it is in every request. */
  close(value: unknown): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv, { authTagLength: TAG_BYTES })
    cipher.setAAD(this.#place)
    const body = cipher.update(packr.pack(value))
    return Buffer.concat([iv, body, cipher.final(), cipher.getAuthTag()]).toString('base64url')
  }

  /** The value; undefined when `text` was not sealed with this key for this place, or has been changed. */
  open(text: string): unknown {
    const bytes = Buffer.from(text, 'base64url')
    // One value has one spelling: what Buffer forgives (line ends, other alphabets) is not the id that was given out.
    if (bytes.length < IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== text) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES
    })
    decipher.setAAD(this.#place)
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
    try {
      const clear = decipher.update(bytes.subarray(IV_BYTES, bytes.length - TAG_BYTES))
      return packr.unpack(Buffer.concat([clear, decipher.final()]))
    } catch {
      return undefined
    }
  }
}
