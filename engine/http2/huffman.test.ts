import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { decodeHuffman, encodeHuffman, huffmanLength } from './huffman.ts'

const hex = (text: string) => Buffer.from(text, 'latin1').toString('hex')
const decodeHex = (text: string) => {
  const bytes = Buffer.from(text, 'hex')
  return decodeHuffman(bytes, 0, bytes.length)
}

test('the examples of RFC 7541 Appendix C.4 and C.6', () => {
  for (const [text, code] of [
    ['www.example.com', 'f1e3c2e5f23a6ba0ab90f4ff'],
    ['no-cache', 'a8eb10649cbf'],
    ['custom-key', '25a849e95ba97d7f'],
    ['custom-value', '25a849e95bb8e8b4bf'],
    ['302', '6402'],
    ['private', 'aec3771a4b'],
    ['Mon, 21 Oct 2013 20:13:21 GMT', 'd07abe941054d444a8200595040b8166e082a62d1bff'],
    ['https://www.example.com', '9d29ad171863c78f0b97c8e9ae82ae43d3'],
    [
      'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
      '94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007'
    ]
  ] as const) {
    equal(hex(encodeHuffman(text)), code)
    equal(decodeHex(code), text)
    equal(huffmanLength(text), code.length / 2)
  }
})

test('every byte, and every pair of bytes, comes back', () => {
  for (let a = 0; a < 256; a++) {
    for (let b = 0; b < 256; b += a % 16 === 0 ? 1 : 17) {
      const text = String.fromCharCode(a, b)
      const code = Buffer.from(encodeHuffman(text), 'latin1')
      equal(decodeHuffman(code, 0, code.length), text)
      equal(code.length, huffmanLength(text))
    }
  }
})

test('invalid codes are refused: padding that is too long or not ones, the end of string', () => {
  equal(decodeHex(''), '')
  equal(decodeHex('1f'), 'a')
  equal(decodeHex('18'), null, 'padding of zeros')
  equal(decodeHex('1fff'), null, 'a whole byte of padding')
  equal(decodeHex('ff'), null, 'nothing but padding, eight bits of it')
  equal(decodeHex('ffffffff'), null, 'the end of string')
  equal(decodeHex('fffffffc'), null, 'the end of string, then zeros')
})
