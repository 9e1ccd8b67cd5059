import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject } from './json-rpc.ts'
import { mirroredParameters, parameterFields } from './parameters.ts'

const marked = (type: string, header: unknown = 'Region'): JsonObject =>
  ({ type, 'x-mcp-header': header }) as JsonObject
const schema = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...rest })

describe('arguments as fields', () => {
  it('are read from where the schema marks them', () => {
    const parameters = mirroredParameters(
      schema({
        region: marked('string'),
        // A property may have the name of a keyword.
        items: marked('boolean', 'Items'),
        deep: schema({ size: marked('integer', 'Size') })
      })
    )
    assert.ok(parameters !== null)
    assert.deepEqual(parameterFields(parameters, { region: 'ä', deep: { size: 42 }, items: false }), [
      ...['mcp-param-region', '=?base64?w6Q=?='],
      ...['mcp-param-items', 'false'],
      ...['mcp-param-size', '42']
    ])
    assert.deepEqual(parameterFields(parameters, { region: null, deep: 7 }), [])
    assert.deepEqual(parameterFields(parameters, undefined), [])
  })

  const invalid: Record<string, JsonObject> = {
    'an empty name': schema({ a: marked('string', '') }),
    'a name with a line end': schema({ a: marked('string', 'A\r\nX: 1') }),
    'no text': schema({ a: marked('string', 3) }),
    'the type number': schema({ a: marked('number') }),
    'one name twice': schema({ a: marked('string', 'X'), b: marked('string', 'x') }),
    'within items': schema({ a: { type: 'array', items: marked('string') } }),
    'within oneOf': schema({}, { oneOf: [schema({ a: marked('string') })] }),
    'within $defs': schema({}, { $defs: { a: marked('string') } }),
    'the root': marked('string')
  }
  for (const [what, broken] of Object.entries(invalid)) {
    it(`are refused: ${what}`, () => assert.equal(mirroredParameters(broken), null))
  }

  it('leaves alone what only looks like a mark', () => {
    assert.deepEqual(mirroredParameters(schema({ a: { type: 'object', default: marked('string') } })), [])
    assert.deepEqual(mirroredParameters(schema({ 'x-mcp-header': { type: 'string' } })), [])
  })

  it('stops at schemas of any depth', () => {
    let deep: JsonObject = marked('string')
    for (let i = 0; i < 40; i++) deep = schema({ a: deep })
    assert.equal(mirroredParameters(deep), null)
  })
})
