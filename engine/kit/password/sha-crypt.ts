/** SHA-crypt ($5$ and $6$), by its specification (Ulrich Drepper, "Unix crypt using SHA-256 and SHA-512"). */
import { createHash } from 'node:crypto'
import { crypt64, stretched } from './crypt64.ts'

export type ShaName = 'sha256' | 'sha512'

export const ROUNDS_DEFAULT = 5000

type Group = readonly [number, number, number]

/** Each group of three continues the one before, its bytes turned by one place. */
const ORDER: Readonly<Record<ShaName, readonly Group[]>> = {
  sha256: [...groups(10, [0, 10, 20], (a, b, c) => [c + 1, a + 1, b + 1]), [-1, 31, 30]],
  sha512: [...groups(21, [0, 21, 42], (a, b, c) => [b + 1, c + 1, a + 1]), [-1, -1, 63]]
}

function groups(count: number, first: Group, next: (...group: Group) => Group): Group[] {
  const all = [first]
  while (all.length < count) all.push(next(...all.at(-1)!))
  return all
}

/** The digest's text, what stands behind the last "$". `salt`: up to 16 characters. */
export function shaCrypt(password: Buffer, name: ShaName, salt: string, rounds: number): string {
  const saltBytes = Buffer.from(salt)
  const sha = (parts: readonly Buffer[]): Buffer => {
    const hash = createHash(name)
    for (const part of parts) hash.update(part)
    return hash.digest()
  }
  const alternate = sha([password, saltBytes, password])
  const first = [password, saltBytes, stretched(alternate, password.length)]
  for (let length = password.length; length > 0; length >>= 1) first.push(length & 1 ? alternate : password)
  let digest = sha(first)
  // Both are as long as what they stand for, which makes long passwords cost their square: callers bound them.
  const p = stretched(sha(Array.from({ length: password.length }, () => password)), password.length)
  const s = stretched(sha(Array.from({ length: 16 + digest[0]! }, () => saltBytes)), saltBytes.length)
  for (let i = 0; i < rounds; i++) {
    const parts = [i & 1 ? p : digest]
    if (i % 3 !== 0) parts.push(s)
    if (i % 7 !== 0) parts.push(p)
    parts.push(i & 1 ? digest : p)
    digest = sha(parts)
  }
  return crypt64(digest, ORDER[name])
}
