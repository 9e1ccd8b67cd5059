/** MD5-crypt, as FreeBSD ($1$) and Apache ($apr1$) write it: 1,000 rounds of MD5 over password, salt and result. */
import { createHash } from 'node:crypto'
import { crypt64, stretched } from './crypt64.ts'

const ROUNDS = 1000

const ORDER = [
  [0, 6, 12],
  [1, 7, 13],
  [2, 8, 14],
  [3, 9, 15],
  [4, 10, 5],
  [-1, -1, 11]
] as const

/** The whole hash, "$1$salt$digest". `magic`: "$1$" or "$apr1$"; `salt`: up to 8 characters. */
export function md5Crypt(password: Buffer, magic: string, salt: string): string {
  const saltBytes = Buffer.from(salt)
  const alternate = md5(password, saltBytes, password)
  const first = [password, Buffer.from(magic), saltBytes, stretched(alternate, password.length)]
  // One byte per bit of the length: zero for a one, and the password's first byte for a zero.
  for (let length = password.length; length > 0; length >>= 1) {
    first.push(length & 1 ? Buffer.alloc(1) : password.subarray(0, 1))
  }
  let digest = md5(...first)
  for (let i = 0; i < ROUNDS; i++) {
    const parts = [i & 1 ? password : digest]
    if (i % 3 !== 0) parts.push(saltBytes)
    if (i % 7 !== 0) parts.push(password)
    parts.push(i & 1 ? digest : password)
    digest = md5(...parts)
  }
  return `${magic}${salt}$${crypt64(digest, ORDER)}`
}

function md5(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('md5')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
