import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SipHash } from './siphash.ts'

const MASK = 0xffff_ffff_ffff_ffffn
const rotate = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (64n - by))) & MASK

/** The paper's description, word for word. */
function reference(key: Buffer, message: Buffer): bigint {
  const k0 = key.readBigUInt64LE(0)
  const k1 = key.readBigUInt64LE(8)
  let a = k0 ^ 0x736f6d6570736575n
  let b = k1 ^ 0x646f72616e646f6dn
  let c = k0 ^ 0x6c7967656e657261n
  let d = k1 ^ 0x7465646279746573n
  const rounds = (count: number) => {
    for (let i = 0; i < count; i++) {
      a = (a + b) & MASK
      c = (c + d) & MASK
      b = rotate(b, 13n) ^ a
      d = rotate(d, 16n) ^ c
      a = rotate(a, 32n)
      c = (c + b) & MASK
      a = (a + d) & MASK
      b = rotate(b, 17n) ^ c
      d = rotate(d, 21n) ^ a
      c = rotate(c, 32n)
    }
  }
  const padded = Buffer.alloc((message.length >> 3) * 8 + 8)
  message.copy(padded)
  padded[padded.length - 1] = message.length & 255
  for (let at = 0; at < padded.length; at += 8) {
    const block = padded.readBigUInt64LE(at)
    d ^= block
    rounds(2)
    a ^= block
  }
  c ^= 0xffn
  rounds(4)
  return a ^ b ^ c ^ d
}

const KEY = Buffer.from(Array.from({ length: 16 }, (_, i) => i))
const words = (bytes: Buffer): Int32Array => Int32Array.from({ length: 4 }, (_, i) => bytes.readInt32LE(i * 4))

function ours(key: Buffer, tag: Buffer, text: string): bigint {
  const sip = new SipHash(words(key))
  sip.hash(text, tag.readInt32LE(0), tag.readInt32LE(4))
  return (BigInt(sip.hi >>> 0) << 32n) | BigInt(sip.lo >>> 0)
}

test('vectors of the reference implementation: messages 00 01 02 ...', () => {
  const message = (length: number) => Buffer.from(Array.from({ length }, (_, i) => i))
  assert.equal(reference(KEY, message(15)), 0xa129ca6149be45e5n)
  assert.equal(reference(KEY, message(0)), 0x726fdb47dd0e0e31n)
  assert.equal(ours(KEY, message(8), ''), 0x93f5f5799a932462n)
})

test('any key, tag and text', () => {
  const bytes = (length: number) =>
    fc.uint8Array({ minLength: length, maxLength: length }).map((list) => Buffer.from(list))
  fc.assert(
    fc.property(bytes(16), bytes(8), fc.string({ unit: 'binary', maxLength: 200 }), (key, tag, text) => {
      assert.equal(ours(key, tag, text), reference(key, Buffer.concat([tag, Buffer.from(text, 'utf16le')])))
    })
  )
})
