/**
 * OpenAPI documents and arguments of their tools: any document ends as a configuration problem or as tools with valid
 * names and schemas, and arguments as a refusal or as a request to the document's own server and path.
 */
import assert from 'node:assert/strict'
import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { Document, isNode, type Node } from '#backends/mcp/targets/openapi/document.ts'
import { ALL_OPERATIONS } from '#backends/mcp/targets/openapi/operation-filter.ts'
import { readOperations } from '#backends/mcp/targets/openapi/operations.ts'
import type { Operation } from '#backends/mcp/targets/openapi/plan.ts'
import { writeRequest } from '#backends/mcp/targets/openapi/request.ts'
import { ArgumentError } from '#backends/mcp/targets/openapi/serialize.ts'
import { ConfigError } from '#engine/contract/config-error.ts'
import { HeaderBlock } from '#engine/http/headers.ts'

export const name = 'openapi'

export const dictionary = [
  ...['"openapi":"3.0.3"', '"openapi":"3.1.0"', '"paths":{', '"/a/{id}":{', '"get":{', '"post":{', '"parameters":['],
  ...['"in":"path"', '"in":"query"', '"in":"header"', '"in":"cookie"', '"style":"deepObject"', '"explode":true'],
  ...[
    '"$ref":"#/components/schemas/A"',
    '"$ref":"#/a/0"',
    '"allOf":[',
    '"properties":{',
    '"nullable":true',
    '~1',
    '%25'
  ],
  ...[
    '"requestBody":{',
    '"content":{',
    '"application/json":{',
    '"multipart/form-data"',
    '"format":"binary"',
    '"swagger":"2.0"',
    '"in":"formData"',
    '"collectionFormat":"multi"',
    '"contentType":',
    '"__proto__":',
    '"readOnly":true'
  ],
  ...[
    '"items":',
    '"required":[',
    '"name":"id"',
    '{"path":{"id":"..',
    '\\r\\n',
    '\\u0000',
    '\\ud800',
    '"body":',
    '1e999'
  ]
]

/** A document, and behind a line feed of its own the arguments for each of its tools. */
export function run(data: Buffer): void {
  const text = data.toString('utf8')
  const split = text.indexOf('\n')
  const document = read(split < 0 ? text : text.slice(0, split))
  if (!isNode(document)) return
  checkShared(document)
  const args = split < 0 ? {} : read(text.slice(split + 1))
  // As it is, what is mutated is rarely a document: as a schema, and as parameters, it gets further.
  for (const root of [document, asSchema(document), asParameters(document), asSwagger(document), asForm(document)]) {
    const operations = operationsOf(root)
    for (const operation of operations) {
      checkTool(operation)
      checkRequest(operation, isNode(args) ? (args as JsonObject) : {})
      checkRequest(operation, everywhere(operation, args as JsonValue))
    }
  }
}

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Text that is no JSON is another target's case.
    return null
  }
}

function asSchema(schema: Node): Node {
  const requestBody = { content: { 'application/json': { schema } } }
  return { openapi: '3.1.0', components: { schemas: { A: schema } }, paths: { '/a': { post: { requestBody } } } }
}

/** Of several operations that share what they refer to, each is as if it were alone. */
function checkShared(schema: Node): void {
  const schemas = { A: schema, B: { allOf: [{ $ref: '#/components/schemas/A' }, { $ref: '#/components/schemas/A' }] } }
  const post = { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/B' } } } } }
  const several = (...paths: readonly string[]): JsonObject[] => {
    const all = Object.fromEntries(paths.map((path) => [path, { post }]))
    return operationsOf({ openapi: '3.1.0', components: { schemas }, paths: all }).map(({ tool }) => tool)
  }
  const [first, second] = several('/a', '/b')
  const [alone] = several('/b')
  assert.deepEqual(second?.inputSchema, alone?.inputSchema)
  assert.deepEqual(first?.inputSchema, alone?.inputSchema)
}

function asParameters(node: Node): Node {
  return { openapi: '3.0.0', paths: { '/{id}/b': { get: { parameters: Object.values(node) } } } }
}

function asSwagger(node: Node): Node {
  return {
    swagger: '2.0',
    paths: { '/{id}/b': { post: { parameters: Object.values(node), consumes: node.consumes } } }
  }
}

function asForm(schema: Node): Node {
  const content = { 'multipart/form-data': { schema, encoding: schema }, 'application/json-patch+json': { schema } }
  return { openapi: '3.1.0', paths: { '/a': { post: { requestBody: { content } } } } }
}

function operationsOf(root: Node): Operation[] {
  try {
    const { byName, tools } = readOperations(new Document(root, 'doc'), { authHeader: 'x-key', filter: ALL_OPERATIONS })
    for (const { name, tool } of tools) assert.equal(tool, JSON.stringify(byName.get(name)!.tool))
    return [...byName.values()]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    assert.match(error.message, /^doc\./)
    return []
  }
}

function checkTool({ tool, path, parameters }: Operation): void {
  assert.match(tool.name, /^[A-Za-z0-9_-]{1,64}$/)
  assert.equal(path.length % 2, 1)
  for (const one of parameters) assert.ok(one.place !== 'header' || !/^(?:x-key|host|content-.*)$/i.test(one.name))
  const schema = tool.inputSchema as JsonObject
  assert.equal(schema.type, 'object')
  const definitions = Object.keys((schema.$defs ?? {}) as JsonObject)
  const walk = (value: unknown): void => {
    if (!isNode(value)) return
    for (const [key, item] of Object.entries(value)) {
      if (['enum', 'const', 'default', 'examples', 'properties'].includes(key)) continue
      if (key === '$ref') assert.ok(definitions.includes(String(item).slice('#/$defs/'.length)), String(item))
      walk(item)
    }
  }
  walk(schema)
  JSON.stringify(tool)
}

function checkRequest(operation: Operation, args: JsonObject): void {
  const headers = new HeaderBlock()
  headers.append('X-Key', 'ours')
  try {
    const { path, query } = writeRequest(operation, args, '', headers)
    assert.match(path, /^\/[\x21-\x7e]*$/)
    assert.ok(!/[?#]/.test(path), path)
    // What the document itself says is its own affair; arguments add no steps.
    if (!operation.path.some((part) => part.includes('.'))) assert.ok(!/\/\.{1,2}(?:\/|$)/.test(path), path)
    assert.match(query, /^(?:\?[\x21-\x7e]*)?$/)
    assert.ok(!query.includes('#'), query)
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
  }
  headers.forEach((field, value) => {
    assert.match(field, /^[!#$%&'*+\-.^_`|~\w]+$/)
    assert.match(value, /^[\t\x20-\x7e]*$/)
  })
  assert.equal(headers.getAll('x-key'), 'ours')
}

/** The same value for each parameter of the tool. */
function everywhere({ parameters, body }: Operation, value: JsonValue): JsonObject {
  const places: Record<string, Record<string, JsonValue>> = {}
  for (const { place, name: key } of parameters) {
    places[place] ??= {}
    // Defined, not assigned: it may be called __proto__.
    Object.defineProperty(places[place], key, { value, enumerable: true, configurable: true })
  }
  return body === null ? places : { ...places, body: value }
}
