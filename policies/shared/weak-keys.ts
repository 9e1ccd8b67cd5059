/** Public keys under which anyone can sign, or whose private part can be computed. */

/** RFC 7518 sections 3.3 and 3.5. Longer ones than 16384 bits would take milliseconds to verify. */
const RSA_BITS_MIN = 2048
const RSA_BITS_MAX = 16_384

/** For each small prime the numbers that 65537 generates modulo it: see isRoca. */
const GENERATED = [
  ...[3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97],
  ...[101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167]
].map((prime) => {
  const members = new Set<number>()
  for (let power = 1; !members.has(power); power = (power * 65_537) % prime) members.add(power)
  return { prime, members }
})

/** Seven primes at a time: the remainder of a division by their product is exact as a number. */
const GROUP_SIZE = 7
const GROUPS = Array.from({ length: Math.ceil(GENERATED.length / GROUP_SIZE) }, (_, i) => {
  const own = GENERATED.slice(i * GROUP_SIZE, (i + 1) * GROUP_SIZE)
  return { own, product: BigInt(own.reduce((product, { prime }) => product * prime, 1)) }
})

/** The smallest public exponent that is taken. With 3 all depends on how strictly the padding is checked. */
export type MinRsaExponent = 3 | 65_537
export const MIN_RSA_EXPONENT: MinRsaExponent = 3

/** Why the key is none to trust, in words behind its name, without its material; null: nothing is known against it. */
export function weaknessOf({ kty, crv, n, e, x }: Record<string, unknown>, exponentMin: MinRsaExponent): string | null {
  if (kty === 'RSA') return rsaWeakness(n, e, exponentMin)
  return kty === 'OKP' && crv === 'Ed25519' && isOfSmallOrder(x)
    ? 'is a point of small order: signatures by it can be made without a private key'
    : null
}

/** `n` and `e`: base64url (RFC 7518 section 6.3.1). */
function rsaWeakness(n: unknown, e: unknown, exponentMin: MinRsaExponent): string | null {
  const [modulus, exponent] = [numberOf(n), numberOf(e)]
  if (modulus === null || exponent === null) return 'is malformed'
  const bits = bitsOf(modulus)
  if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX) {
    return `has ${bits} bits and must have ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits`
  }
  if (exponent === 1n) return 'has the exponent 1: every text is its own signature'
  if (exponent % 2n === 0n) return 'has an even exponent: no private key belongs to it'
  if (exponent < exponentMin) return `has the exponent ${exponent}, and minRsaExponent is ${exponentMin}`
  const remainders = remaindersOf(modulus)
  if (modulus % 2n === 0n || remainders.includes(0)) {
    return 'has a modulus with a small factor: its private key can be computed'
  }
  return isRoca(remainders)
    ? 'was made by a chip whose private keys can be computed from the public ones (ROCA, CVE-2017-15361): replace it'
    : null
}

/**
 * Nemec and others, "The Return of Coppersmith's Attack" (2017): the primes of that library are powers of 65537 modulo
 * a product of small primes, and so is what they make. Of other keys one in 2^27 looks like that.
 */
function isRoca(remainders: readonly number[]): boolean {
  return GENERATED.every(({ members }, i) => members.has(remainders[i]!))
}

/** Modulo each of the primes. Divisions of long numbers are what a check costs: 6 of them, and not 38. */
function remaindersOf(modulus: bigint): readonly number[] {
  return GROUPS.flatMap(({ own, product }) => {
    const rest = Number(modulus % product)
    return own.map(({ prime }) => rest % prime)
  })
}

function bitsOf(value: bigint): number {
  const digits = value.toString(16)
  return digits.length * 4 - (Math.clz32(Number.parseInt(digits[0]!, 16)) - 28)
}

/** As long as any that is read: 16384 bits are 2,731 characters. */
const DIGITS_MAX = 4_096

function numberOf(text: unknown): bigint | null {
  if (typeof text !== 'string' || text.length > DIGITS_MAX || !/^[\w-]+$/.test(text)) return null
  return BigInt(`0x${Buffer.from(text, 'base64url').toString('hex') || '0'}`)
}

/** Of edwards25519, y in 32 bytes without the sign of x, with the forms that are not reduced. */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ...['ec', 'ed', 'ee'].map((low) => `${low}${'ff'.repeat(30)}7f`)
])

function isOfSmallOrder(x: unknown): boolean {
  if (typeof x !== 'string') return false
  const bytes = Buffer.from(x, 'base64url')
  if (bytes.length === 32) bytes[31]! &= 0x7f
  return SMALL_ORDER.has(bytes.toString('hex'))
}
