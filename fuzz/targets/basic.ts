/**
 * The Authorization header of the Basic scheme: whatever a client sends, it ends with null or with a user and a
 * password that, encoded again, are what was sent. And the policy then takes no more than its own line.
 */
import assert from 'node:assert/strict'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { parseBasic } from '#policies/shared/basic-credentials.ts'
import { credentialAt, SEVERAL } from '#policies/shared/credential.ts'

export const name = 'basic'

export const dictionary = [
  'Basic ',
  'basic  ',
  'Bearer ',
  'YTpi',
  'Og==',
  '=',
  '==',
  '\0',
  ':',
  '+/',
  '-_',
  'AAAA',
  ' '
]

const HEADER = credentialAt({ kind: 'header', name: 'authorization', prefix: 'Basic ' })

export function run(data: Buffer): void {
  // Transports have refused what frames a line; blanks around a value are not part of it.
  const value = data.latin1Slice().replace(/[\r\n\0]/g, '')
  checkHeader(value)
  check(value)
  // As it is, an input is rarely base64: encoded, it gets further.
  check(data.toString('base64'))
  checkHeader(`Basic ${data.toString('base64')}`)
}

function check(text: string): void {
  const parsed = parseBasic(text)
  if (parsed === null) return
  const { user, password } = parsed
  assert.ok(!user.includes(':') && user.length <= 1020 && password.length <= 512)
  assert.doesNotMatch(user + password, /[\0-\x1f\x7f]/)
  assert.equal(Buffer.from(text, 'base64').latin1Slice(), `${user}:${password}`)
  assert.match(text, /^[A-Za-z0-9+/]+={0,2}$/)
}

function checkHeader(value: string): void {
  const ex = fakeExchange({
    headers: [
      ['a', '1'],
      ['authorization', value],
      ['b', '2']
    ]
  })
  const found = HEADER.find(ex)
  assert.notEqual(found, SEVERAL)
  if (typeof found !== 'string') return
  const sent = value.replace(/^[ \t]+/, '')
  assert.ok(/^basic $/i.test(sent.slice(0, 6)) && /^[ \t]*$/.test(sent.slice(sent.lastIndexOf(found) + found.length)))
  HEADER.take(ex, found)
  assert.equal(ex.request.lines(), 'a: 1\r\nb: 2\r\n')
  assert.equal(HEADER.find(ex), null)
}
