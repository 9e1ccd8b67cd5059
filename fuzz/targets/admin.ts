/**
 * Who may call the admin port: whatever the lines of a request are, nobody is admitted whose header has not the token,
 * whole, in one of its two spellings, and no page without its mark. And paths find an operation or none.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Api } from '#engine/admin/api/api.ts'
import { API_PATH, type Operation } from '#engine/admin/api/operation.ts'
import type { Request } from '#engine/admin/server.ts'
import { Gate } from '#engine/admin/who.ts'
import { secret } from '#engine/kit/secret.ts'

export const name = 'admin'

const TOKEN = 'tok.en-0~/+='

export const dictionary = [
  'Bearer ',
  'Basic ',
  TOKEN,
  ':',
  'DELETE',
  'GET',
  `${API_PATH}/keys/`,
  '%2F',
  '%',
  '\n',
  '/rotate'
]

const hash = secret(createHash('sha256').update(TOKEN).digest('hex'))
const address = { kind: 'tcp', hosts: ['0.0.0.0'], port: 1 } as const
const gate = new Gate({ hosts: [], tokens: [{ name: 'a', hash, role: 'test' }] }, address)

const operation = (method: Operation['method'], path: string): Operation => ({
  ...{ id: `${method} ${path}`, method, path, tag: 'T', role: 'see', summary: '', replies: {} },
  answer: () => ({ status: 200, body: '' })
})
const api = new Api([operation('GET', '/keys'), operation('DELETE', '/keys/{name}'), operation('GET', '/keys/all')])

export function run(data: Buffer): void {
  const [method = '', path = '', authorization = '', csrf = '', origin = ''] = data.latin1Slice().split('\n')
  const headers = { authorization, 'x-weir-csrf': csrf, ...(origin === '' ? {} : { origin }) }
  const request: Request = { method, path, query: new URLSearchParams(), headers, body: async () => Buffer.of() }
  const admitted = gate.admit(request, 'test')
  if (admitted.caller !== null) {
    assert.ok(hasToken(authorization), `admitted by ${JSON.stringify(authorization)}`)
    assert.ok(origin === '' || method === 'GET' || method === 'HEAD' || csrf === gate.session(request).csrf)
  }
  assert.equal(gate.admit(request, 'change').caller, null)
  const found = api.operationOf(request)
  const isKey = /^\/api\/v1\/keys\/[^/]+$/.test(path)
  if (found !== null) assert.ok(path === `${API_PATH}/keys` || isKey, path)
}

function hasToken(authorization: string): boolean {
  const [scheme = '', value = ''] = authorization.split(/ +/)
  if (scheme.toLowerCase() === 'bearer') return value === TOKEN
  return scheme.toLowerCase() === 'basic' && Buffer.from(value, 'base64').toString().endsWith(`:${TOKEN}`)
}
