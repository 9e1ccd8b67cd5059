/** {SHA} of htpasswd -s: one SHA-1 without salt. A microsecond, so it is verified where it is asked for. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto'

const PREFIX = '{SHA}'

export function isSha1(hash: string): boolean {
  return hash.startsWith(PREFIX)
}

/** `password`: its bytes as latin1 text. */
export function verifySha1(hash: string, password: string): boolean {
  return isEqual(digestOf('sha1', Buffer.from(password, 'latin1'), 'base64'), hash.slice(PREFIX.length))
}

/** Takes as long whatever the first difference is (CWE-208). */
export function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'))
}
