import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { HeaderBlock } from '#engine/http/headers.ts'
import { decodeFieldValue, encodeFieldValue } from './field-values.ts'
import { isStateless, mirroredFields, refusalOf } from './headers.ts'
import type { JsonObject, RpcRequest } from './json-rpc.ts'
import { META_CLIENT_CAPABILITIES, META_LOG_LEVEL, META_VERSION } from './stateless.ts'

const META = { [META_VERSION]: '2026-07-28', [META_CLIENT_CAPABILITIES]: {} }

function call(method: string, params: JsonObject = {}, meta: JsonObject = META): RpcRequest {
  return { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }
}

function fields(...flat: string[]): HeaderBlock {
  const headers = new HeaderBlock()
  for (let i = 0; i + 1 < flat.length; i += 2) headers.receive(flat[i]!, flat[i + 1]!)
  return headers
}

const VERSION = ['MCP-Protocol-Version', '2026-07-28']

describe('fields of a stateless request', () => {
  it('agrees with what the gateway itself would send', () => {
    for (const message of [
      call('tools/list'),
      call('tools/call', { name: 'a tool, "quoted" and älter ' }),
      call('resources/read', { uri: 'file:///ü' })
    ]) {
      assert.equal(refusalOf(fields(...VERSION, ...mirroredFields(message)), message), null)
    }
  })

  const message = call('tools/call', { name: 'echo' })
  const rest = ['Mcp-Method', 'tools/call', 'Mcp-Name', 'echo']
  const cases: [string, HeaderBlock, RpcRequest, number, number][] = [
    ['no version', fields(...rest), message, 400, -32020],
    ['another version', fields('MCP-Protocol-Version', '2025-11-25', ...rest), message, 400, -32020],
    ['no method', fields(...VERSION, 'Mcp-Name', 'echo'), message, 400, -32020],
    ['another method', fields(...VERSION, 'Mcp-Method', 'tools/list', 'Mcp-Name', 'echo'), message, 400, -32020],
    [
      'method in another case',
      fields(...VERSION, 'Mcp-Method', 'Tools/Call', 'Mcp-Name', 'echo'),
      message,
      400,
      -32020
    ],
    ['no name', fields(...VERSION, 'Mcp-Method', 'tools/call'), message, 400, -32020],
    ['another name', fields(...VERSION, 'Mcp-Method', 'tools/call', 'Mcp-Name', 'ech'), message, 400, -32020],
    ['broken base64', fields(...VERSION, 'Mcp-Method', 'tools/call', 'Mcp-Name', '=?base64?*?='), message, 400, -32020],
    ['no _meta', fields(...VERSION, ...rest), call('tools/call', { name: 'echo' }, {}), 400, -32602],
    [
      'no capabilities',
      fields(...VERSION, ...rest),
      call('tools/call', { name: 'echo' }, { [META_VERSION]: '2026-07-28' }),
      400,
      -32602
    ],
    [
      'unknown log level',
      fields(...VERSION, ...rest),
      call('tools/call', { name: 'echo' }, { ...META, [META_LOG_LEVEL]: 'loud' }),
      400,
      -32602
    ],
    ['method of the other era', fields(...VERSION, 'Mcp-Method', 'ping'), call('ping'), 404, -32601],
    ['a request to clients', fields(...VERSION, 'Mcp-Method', 'roots/list'), call('roots/list'), 404, -32601],
    [
      'unknown version',
      fields('MCP-Protocol-Version', '2027-01-01', ...rest),
      call('tools/call', { name: 'echo' }, { ...META, [META_VERSION]: '2027-01-01' }),
      400,
      -32022
    ]
  ]
  for (const [what, headers, request, status, code] of cases) {
    it(`refuses: ${what}`, () => {
      const refusal = refusalOf(headers, request)
      assert.deepEqual([refusal?.status, refusal?.error.code], [status, code])
    })
  }

  it('knows the era by the claim, then by the field', () => {
    assert.equal(isStateless(fields(), call('tools/list')), true)
    assert.equal(isStateless(fields(...VERSION), call('tools/list', {}, {})), true)
    assert.equal(isStateless(fields(...VERSION), call('initialize', {}, {})), false)
    assert.equal(isStateless(fields('MCP-Protocol-Version', '2025-11-25'), call('tools/list', {}, {})), false)
    assert.equal(isStateless(fields(), call('tools/list', {}, {})), false)
  })

  it('carries any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const field = encodeFieldValue(text)
        assert.match(field, /^[\x20-\x7e\t]*$/)
        assert.equal(field, field.trim())
        assert.equal(decodeFieldValue(field), text)
      })
    )
    assert.equal(encodeFieldValue(' padded '), '=?base64?IHBhZGRlZCA=?=')
    assert.equal(encodeFieldValue('=?base64?literal?='), '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=')
    assert.equal(decodeFieldValue('\xe4'), null)
    assert.equal(decodeFieldValue('=?base64?/w==?='), null)
  })
})
