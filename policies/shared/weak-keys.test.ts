import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { MIN_RSA_EXPONENT, weaknessOf } from './weak-keys.ts'

const PRIMES = Array.from({ length: 168 }, (_, i) => i).filter(
  (n) => n > 2 && Array.from({ length: n }, (_, i) => i).every((d) => d < 2 || n % d !== 0)
)

const base64url = (n: bigint): string => Buffer.from(n.toString(16).padStart(600, '0'), 'hex').toString('base64url')
const says = (n: bigint) => weaknessOf({ kty: 'RSA', n: base64url(n), e: 'AQAB' }, MIN_RSA_EXPONENT)

test('each small factor of a modulus is found', () => {
  equal(PRIMES.length, 38)
  let rest = 2n ** 2050n + 1n
  while (PRIMES.some((prime) => rest % BigInt(prime) === 0n)) rest += 2n
  equal(says(rest), null)
  for (const prime of PRIMES) match(says(rest * BigInt(prime)) ?? '', /small factor/)
})

test('the length of a modulus is that of its bits', () => {
  match(says(2n ** 2047n - 1n) ?? '', /^has 2047 bits/)
  match(says(2n ** 2046n) ?? '', /^has 2047 bits/)
  match(says(2n ** 2047n) ?? '', /small factor/)
  match(
    weaknessOf({ kty: 'RSA', n: Buffer.from('01', 'hex').toString('base64url'), e: 'AQAB' }, 3) ?? '',
    /^has 1 bits/
  )
})
