import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { HeaderBlock } from '#engine/http/headers.ts'
import { type Field, FLAWED } from './field.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import { COMPRESSION_ERROR, NO_ERROR } from './protocol.ts'

function decodeBytes(decoder: HpackDecoder, bytes: Buffer): string[] | number {
  const fields: Field[] = []
  const code = decoder.decode(bytes, 0, bytes.length, { field: (field) => fields.push(field) })
  return code === NO_ERROR ? fields.map(({ name, value }) => `${name}: ${value}`) : code
}
const decode = (decoder: HpackDecoder, hex: string) => decodeBytes(decoder, Buffer.from(hex.replaceAll(' ', ''), 'hex'))
const decodeText = (decoder: HpackDecoder, text: string) => decodeBytes(decoder, Buffer.from(text, 'latin1'))

const REQUESTS = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
  [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value']
]

test('the requests of RFC 7541 Appendix C.3 and C.4', () => {
  for (const blocks of [
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65'
    ],
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf'
    ]
  ]) {
    const decoder = new HpackDecoder(4096)
    for (const [i, block] of blocks.entries()) deepEqual(decode(decoder, block), REQUESTS[i])
  }
})

test('the responses of RFC 7541 Appendix C.6: a table of 256 bytes drops what is old', () => {
  const decoder = new HpackDecoder(256)
  const date = 'date: Mon, 21 Oct 2013 20:13:21 GMT'
  const location = 'location: https://www.example.com'
  deepEqual(
    decode(
      decoder,
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e' +
        '919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3'
    ),
    [':status: 302', 'cache-control: private', date, location]
  )
  deepEqual(decode(decoder, '4883 640e ffc1 c0bf'), [':status: 307', 'cache-control: private', date, location])
  deepEqual(
    decode(
      decoder,
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad' +
        '94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07'
    ),
    [
      ':status: 200',
      'cache-control: private',
      'date: Mon, 21 Oct 2013 20:13:22 GMT',
      location,
      'content-encoding: gzip',
      'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
    ]
  )
})

test('a malformed block ends the connection', () => {
  for (const [name, block] of Object.entries({
    'index 0': '80',
    'an index behind the tables': 'be',
    'an index that goes on and on': 'ffffffffffffffffff01',
    'an index that is cut': 'ff',
    'a name index behind the tables': '7f00 0161',
    'a literal without value': '4001 61',
    'a string that is cut': '4005 6162',
    'a string of a length that nothing has': '007f ffff ff7f 61',
    'Huffman that is none': '0081 00 00',
    'a table that is larger than allowed': '3fe2 1f',
    'a new size behind a field': '82 20'
  })) {
    equal(decode(new HpackDecoder(4096), block), COMPRESSION_ERROR, name)
  }
  deepEqual(decode(new HpackDecoder(4096), '20 3fe1 1f 82'), [':method: GET'])
})

test('a field that is larger than the table empties it', () => {
  const decoder = new HpackDecoder(64)
  deepEqual(decode(decoder, '40 0161 0162 be'), ['a: b', 'a: b'])
  const large = `40 0161 40${'63'.repeat(64)}`
  deepEqual(decode(decoder, large), [`a: ${'c'.repeat(64)}`])
  equal(decode(decoder, 'be'), COMPRESSION_ERROR)
})

test('names and values that a message cannot have are marked', () => {
  const flawed = (hex: string) => {
    const fields: Field[] = []
    const bytes = Buffer.from(hex, 'hex')
    equal(new HpackDecoder(4096).decode(bytes, 0, bytes.length, { field: (field) => fields.push(field) }), NO_ERROR)
    return fields[0]!.kind === FLAWED
  }
  ok(flawed('0001410162'), 'capitals')
  ok(flawed('000161022062'), 'a blank first')
  ok(flawed('00016103610d62'), 'a line end')
  ok(flawed('0003613a620162'), 'a colon')
  ok(flawed('00000162'), 'no name')
  ok(!flawed('00016103612062'))
  ok(!flawed('00016101e9'), 'bytes above 127')
})

function blockOf(...fields: [string, string][]): HeaderBlock {
  const block = new HeaderBlock()
  for (const [name, value] of fields) block.receive(name, value)
  return block
}

test('an encoded block decodes to the same fields in lower case, and is shorter', () => {
  const encoder = new HpackEncoder()
  const decoder = new HpackDecoder(4096)
  const block = blockOf(['Content-Type', 'text/html'], ['X-Id', '7'], ['Set-Cookie', 'a=b'], ['Accept-Ranges', ''])
  block.append('Server', 'me')
  const sizes: number[] = []
  for (let i = 0; i < 3; i++) {
    const text = encoder.begin() + encoder.field(':status', '200') + encoder.fields(block)
    sizes.push(text.length)
    deepEqual(decodeText(decoder, text), [
      ':status: 200',
      'content-type: text/html',
      'x-id: 7',
      'set-cookie: a=b',
      'accept-ranges: ',
      'server: me'
    ])
  }
  ok(sizes[2]! <= 12, `${sizes}`)
})

test('credentials enter no table, and say so', () => {
  const encoder = new HpackEncoder()
  for (let i = 0; i < 3; i++) {
    const text = encoder.fields(blockOf(['Set-Cookie', 'a=b'], ['X-Api-Key', 'k']))
    equal(Buffer.from(text, 'latin1').toString('hex'), '1f2803613d621009782d6170692d6b6579016b')
  }
})

test('fields of one connection are not sent on another', () => {
  const hop = ['Connection', 'Keep-Alive', 'Transfer-Encoding', 'Upgrade', 'Proxy-Connection', 'TE', 'Host']
  const block = blockOf(...hop.map((name): [string, string] => [name, 'x']))
  for (let i = 0; i < 3; i++) equal(new HpackEncoder().fields(block), '')
})

test('a thousand different messages fit into any table, and into one that changes', () => {
  const encoder = new HpackEncoder()
  const decoder = new HpackDecoder(4096)
  for (let i = 0; i < 1000; i++) {
    if (i % 97 === 0) encoder.resize((i * 31) % 5000)
    if (i % 194 === 0) encoder.resize(4096 - i)
    const fields = [`x-${i % 7}: ${i % 3}`, `y: ${i % 50}`, `date: ${i >> 3}`, `z-${i % 40}: ${'v'.repeat(i % 90)}`]
    const block = blockOf(...fields.map((line) => line.split(': ') as [string, string]))
    deepEqual(decodeText(decoder, encoder.begin() + encoder.fields(block)), fields)
  }
})
