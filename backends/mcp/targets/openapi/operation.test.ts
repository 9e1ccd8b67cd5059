/** Documents as tools: real ones, and what only hostile ones have. */

import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { McpApi, McpOpenApiTarget } from '#backends/mcp/targets/openapi/config.ts'
import { keyAuth } from '#engine/contract/backend-auth/schema.ts'
import { compiledApi } from './api.ts'
import { Document, type Node } from './document.ts'
import { ALL_OPERATIONS } from './operation-filter.ts'
import { OPERATIONS_MAX, type Operations, readOperations } from './operations.ts'
import type { Operation } from './plan.ts'

const read = (name: string): Node =>
  JSON.parse(readFileSync(new URL(`./testdata/${name}.json`, import.meta.url), 'utf8'))
const operations = (root: unknown, authHeader: string | null = null): Operations =>
  readOperations(new Document(root as Node, 'doc'), { authHeader, filter: ALL_OPERATIONS })

/** A document of one operation. */
function one(operation: object, { version = '3.0.3', path = '/a', ...rest }: Record<string, unknown> = {}): Node {
  return { openapi: version, paths: { [path as string]: { get: operation } }, ...rest }
}

function only(root: Node, authHeader: string | null = null): Operation {
  const { byName } = operations(root, authHeader)
  equal(byName.size, 1)
  return [...byName.values()][0]!
}

/** Of one body, read as 3.0 or 3.1. */
function bodySchema(schema: unknown, components: unknown = {}, version = '3.0.3'): unknown {
  const requestBody = { content: { 'application/json': { schema } } }
  const tool = only(one({ requestBody }, { version, components })).tool as JsonObject
  const { properties, $defs } = tool.inputSchema as { properties: { body: unknown }; $defs?: unknown }
  return $defs === undefined ? properties.body : { body: properties.body, $defs }
}

/** Every reference leads to a definition beside it. */
function closed(schema: JsonObject): void {
  const definitions = Object.keys((schema.$defs ?? {}) as JsonObject)
  JSON.stringify(schema, (key, value) => {
    if (key === '$ref') ok(definitions.includes(String(value).replace('#/$defs/', '')), String(value))
    return value
  })
}

describe('documents of public APIs', () => {
  it('petstore: every operation is a tool', () => {
    const { byName, skipped } = operations(read('petstore'))
    deepEqual([byName.size, skipped], [19, []])
    const { tool, path, body } = byName.get('updatePet')!
    deepEqual(tool.annotations, {
      title: 'Update an existing pet.',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true
    })
    deepEqual(path, ['/pet'])
    const [media] = body!.media
    deepEqual(
      [media!.kind, media!.mediaType, body!.isRequired, body!.media.length],
      ['json', 'application/json', true, 1]
    )
    equal(byName.get('uploadFile')!.body!.media[0]!.kind, 'bytes')
    deepEqual(byName.get('getPetById')!.tool.inputSchema, {
      type: 'object',
      properties: {
        path: {
          type: 'object',
          properties: { petId: { type: 'integer', format: 'int64', description: 'ID of pet to return' } },
          required: ['petId'],
          additionalProperties: false
        }
      },
      required: ['path'],
      additionalProperties: false
    })
  })

  it('qdrant: a recursive schema stays a reference, and is written once', () => {
    const { byName, skipped } = operations(read('qdrant'))
    deepEqual([byName.size, skipped], [42, []])
    for (const { tool } of byName.values()) closed(tool.inputSchema as JsonObject)
    const { inputSchema } = byName.get('search_points')!.tool as unknown as { inputSchema: JsonObject }
    deepEqual(Object.keys(inputSchema.$defs as JsonObject), ['Filter', 'GeoPoint'])
    ok(JSON.stringify(inputSchema).length < 20_000)
  })
})

describe('names of tools', () => {
  it('are operationIds, cleaned, or made of method and path', () => {
    const paths = {
      '/a/{id}': { get: {}, delete: { operationId: 'repos/v1.delete' } },
      '/b': { get: { operationId: 'same' }, put: { operationId: 'same' }, post: { operationId: ' ' } },
      '/c': { get: { operationId: 'x'.repeat(200) }, post: { operationId: 'ünï' }, put: { operationId: '__' } }
    }
    const names = [...operations({ openapi: '3.1.0', paths }).byName.keys()]
    deepEqual(names.slice(0, 3), ['GET_a_id', 'repos_v1_delete', 'same'])
    match(names[3]!, /^same_[0-9a-f]{8}$/)
    equal(names[4], 'POST_b')
    equal(names.length, 8)
    for (const name of names) match(name, /^[\w-]{1,64}$/)
    deepEqual(names, [...operations({ openapi: '3.1.0', paths }).byName.keys()])
  })
})

describe('parameters', () => {
  const parameter = (name: string, place: string, more: object = {}): object => ({
    name,
    in: place,
    schema: { type: 'string' },
    ...more
  })

  it('are kept apart by place, those of the operation before those of the path', () => {
    const root = one(
      { parameters: [parameter('id', 'query', { description: 'its own' }), { $ref: '#/components/parameters/Trace' }] },
      { path: '/a/{id}', components: { parameters: { Trace: parameter('X-Trace', 'header', { required: true }) } } }
    )
    const item = (root.paths as Record<string, Record<string, unknown>>)['/a/{id}']!
    item.parameters = [parameter('id', 'path'), parameter('id', 'query'), parameter('c', 'cookie')]
    const { tool, parameters } = only(root)
    deepEqual(
      parameters.map(({ place, name, isRequired }) => [place, name, isRequired]),
      [
        ['query', 'id', false],
        ['header', 'X-Trace', true],
        ['path', 'id', true],
        ['cookie', 'c', false]
      ]
    )
    const { properties, required } = tool.inputSchema as { properties: JsonObject; required: string[] }
    deepEqual(
      [Object.keys(properties), required],
      [
        ['path', 'query', 'header', 'cookie'],
        ['path', 'header']
      ]
    )
    equal(
      (properties as never as { query: { properties: { id: { description: string } } } }).query.properties.id
        .description,
      'its own'
    )
  })

  it('about the message itself, or with the key of the target, are not arguments', () => {
    const names = ['Host', 'content-length', 'Transfer-Encoding', 'Cookie', 'Authorization', 'X-Forwarded-For', 'X-Key']
    const bad = ['a b', 'a:b', 'a\r\nb', '']
    const parameters = [...names, ...bad, 'X-Fine'].map((name) => parameter(name, 'header', { required: true }))
    deepEqual(
      only(one({ parameters }), 'x-key').parameters.map(({ name }) => name),
      ['X-Fine']
    )
  })

  it('of a path are strings if the document does not describe them', () => {
    const { parameters, path } = only(one({}, { path: '/a/{id}/b c'.replace(' ', '') }))
    deepEqual([path, parameters.map(({ name, place }) => [name, place])], [['/a/', 'id', '/bc'], [['id', 'path']]])
  })

  it('stand in paths of any script', () => {
    deepEqual(only(one({}, { path: '/ü/😀/{id}\ud800' })).path, ['/%C3%BC/%F0%9F%98%80/', 'id', '%EF%BF%BD'])
  })

  it('must have a known style', () => {
    const root = one({ parameters: [parameter('a', 'path', { style: 'deepObject' })] }, { path: '/{a}' })
    throws(
      () => operations(root),
      /doc\.paths\["\/\{a\}"\]\.get: parameter "a": there is no style "deepObject" in path/
    )
  })
})

describe('bodies', () => {
  const kindOf = (...types: string[]): unknown => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]))
    const { byName, skipped } = operations(one({ requestBody: { required: true, content } }))
    const body = [...byName.values()][0]?.body
    return body === undefined ? skipped : body!.media.map(({ kind, mediaType }) => `${kind} ${mediaType}`)
  }

  it('are JSON if possible, else a form, text, bytes; equivalent media types are left out', () => {
    deepEqual(kindOf('*/*'), ['json application/json'])
    deepEqual(kindOf('application/cbor', 'application/yaml', 'application/json'), ['json application/json'])
    deepEqual(kindOf('application/xml', 'application/x-www-form-urlencoded'), [
      'form application/x-www-form-urlencoded'
    ])
    deepEqual(kindOf('application/xml'), ['text application/xml'])
    deepEqual(kindOf('image/*'), ['bytes application/octet-stream'])
    deepEqual(kindOf('text/x-markdown', 'text/plain'), ['text text/x-markdown', 'text text/plain'])
    deepEqual(kindOf('application/json; charset=utf-8'), ['json application/json; charset=utf-8'])
    deepEqual(kindOf('multipart/form-data'), ['multipart multipart/form-data'])
  })

  it('with different meanings are for the caller to choose', () => {
    const patches = ['application/apply-patch+cbor', 'application/apply-patch+yaml', 'application/json-patch+json']
    deepEqual(kindOf(...patches, 'application/merge-patch+json', 'application/strategic-merge-patch+json'), [
      'json application/merge-patch+json',
      'json application/strategic-merge-patch+json',
      'json application/json-patch+json',
      'yaml application/apply-patch+yaml'
    ])
    const content = {
      'application/merge-patch+json': { schema: { type: 'object' } },
      'application/json-patch+json': { schema: { type: 'object' } }
    }
    const { properties } = only(one({ requestBody: { content } })).tool.inputSchema as never as {
      properties: { body: { anyOf: { type: string }[] }; contentType: { enum: string[] } }
    }
    deepEqual(
      properties.body.anyOf.map(({ type }) => type),
      ['object', 'array']
    )
    deepEqual(properties.contentType.enum, ['application/merge-patch+json', 'application/json-patch+json'])
  })

  it('with files are multipart forms', () => {
    const schema = {
      type: 'object',
      properties: {
        photo: { type: 'string', format: 'binary', description: 'It.' },
        more: { type: 'array', items: { contentMediaType: 'image/png' } },
        purpose: { type: 'string', enum: ['a'] }
      }
    }
    const content = { 'application/x-www-form-urlencoded': { schema }, 'multipart/form-data': { schema } }
    const { body, tool } = only(one({ requestBody: { content } }, { version: '3.1.0' }))
    deepEqual(
      body!.media.map(({ kind }) => kind),
      ['multipart']
    )
    deepEqual(
      body!.media[0]!.fields.map(({ name, file }) => [name, file]),
      [
        ['photo', 'always'],
        ['more', 'always']
      ]
    )
    const { properties } = (tool.inputSchema as never as { properties: { body: { properties: JsonObject } } })
      .properties.body
    const { photo, more, purpose } = properties as never as Record<
      string,
      { description?: string; required?: unknown; items?: { required: unknown } }
    >
    deepEqual(
      [photo!.description, photo!.required, more!.items!.required, purpose],
      ['It.', ['data'], ['data'], { type: 'string', enum: ['a'] }]
    )
  })

  it('whose parts have no names make no tool, with a warning', () => {
    const requestBody = { required: true, content: { 'multipart/mixed': {} } }
    const { byName, skipped } = operations({ openapi: '3.0.0', paths: { '/a': { get: {}, post: { requestBody } } } })
    deepEqual(
      [[...byName.keys()], skipped],
      [['GET_a'], ['paths["/a"].post: its body is of no kind that can be written']]
    )
  })
})

describe('schemas', () => {
  it('of 3.0 become JSON Schema 2020-12', () => {
    deepEqual(
      bodySchema({
        type: 'object',
        xml: {},
        discriminator: { propertyName: 'kind' },
        properties: {
          a: { type: 'integer', nullable: true, minimum: 1, exclusiveMinimum: true, example: 7 },
          b: { nullable: true, enum: ['x'], type: 'string' },
          c: { nullable: true, allOf: [{ type: 'string' }], description: 'this' },
          d: { type: 'string', readOnly: true },
          e: { type: 'number', maximum: 5, exclusiveMaximum: false }
        },
        required: ['a', 'd']
      }),
      {
        type: 'object',
        properties: {
          a: { type: ['integer', 'null'], exclusiveMinimum: 1, examples: [7] },
          b: { type: ['string', 'null'], enum: ['x', null] },
          c: { description: 'this', anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] },
          e: { type: 'number', maximum: 5 }
        },
        required: ['a']
      }
    )
  })

  it('keep what stands beside a reference', () => {
    const components = { schemas: { A: { type: 'string', description: 'general' } } }
    const schema = { $ref: '#/components/schemas/A', description: 'here', minLength: 1 }
    deepEqual(bodySchema(schema, components), { type: 'string', description: 'here' })
    deepEqual(bodySchema(schema, components, '3.1.0'), {
      allOf: [{ type: 'string', description: 'general' }, { minLength: 1 }],
      description: 'here'
    })
  })

  it('that are recursive end', () => {
    const Tree = { type: 'object', properties: { left: { $ref: '#/components/schemas/Tree' } } }
    deepEqual(bodySchema({ $ref: '#/components/schemas/Tree' }, { schemas: { Tree } }), {
      body: { $ref: '#/$defs/Tree' },
      $defs: { Tree: { type: 'object', properties: { left: { $ref: '#/$defs/Tree' } } } }
    })
  })

  it('that would grow without bounds keep their references', () => {
    const schemas: Record<string, unknown> = { S0: { type: 'string' } }
    for (let i = 1; i < 40; i++) {
      const ref = { $ref: `#/components/schemas/S${i - 1}` }
      schemas[`S${i}`] = { type: 'object', properties: { a: ref, b: ref } }
    }
    const { $defs } = bodySchema({ $ref: '#/components/schemas/S39' }, { schemas }) as { $defs: JsonObject }
    equal(Object.keys($defs).length, 40)
  })

  it('Kubernetes: shared schemas are written once, and very large ones lose detail with depth', () => {
    const description = 'word '.repeat(200)
    const schemas: Record<string, unknown> = {}
    // A pod's containers, their probes, the probes' handlers: each reached by many ways.
    for (let i = 0; i < 60; i++) {
      const properties = Object.fromEntries(
        [1, 2, 3].map((step) => [`to${step}`, { allOf: [{ $ref: `#/components/schemas/S${i + step}` }], description }])
      )
      schemas[`S${i}`] = { type: 'object', description, properties }
    }
    for (const last of [60, 61, 62]) schemas[`S${last}`] = { type: 'string', description }
    const requestBody = { content: { '*/*': { schema: { $ref: '#/components/schemas/S0' } } } }
    const { tool } = only(one({ requestBody }, { components: { schemas } }))
    const text = JSON.stringify(tool)
    ok(text.length < 33_000, String(text.length))
    closed(tool.inputSchema as JsonObject)
    match(text, /As the API documents it|word…/)
    // A small one keeps every word.
    const small = only(
      one(
        { requestBody: { content: { '*/*': { schema: { $ref: '#/components/schemas/S60' } } } } },
        { components: { schemas } }
      )
    )
    ok(JSON.stringify(small.tool).includes(description.trim()))
  })

  it('that are too large even so are refused', () => {
    const properties = Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`p${i}`, {}]))
    throws(() => bodySchema({ properties }), /doc\.paths\["\/a"\]\.get: the schema of its arguments is too large/)
  })

  it('do not reach the prototype', () => {
    const schema = JSON.parse('{"properties": {"__proto__": {"type": "string"}, "constructor": {}}}')
    const written = bodySchema(schema) as { properties: object }
    deepEqual(Object.keys(written.properties), ['__proto__', 'constructor'])
    equal(Object.getPrototypeOf(written.properties), Object.prototype)
  })
})

describe('documents of a reload', () => {
  const target = (document: Node, more: object = {}): McpOpenApiTarget => ({
    ...{ kind: 'openapi', name: 'a', authorization: null, host: 'a', port: 1, hasTls: false, pathPrefix: '' },
    ...{ auth: null, document, ...more }
  })
  const compiled = (document: Node, more?: object) => compiledApi(target(document, more), 'doc').api

  it('are not compiled again, unless the key of the target or the selected operations change', () => {
    const first = compiled(read('petstore'))
    equal(first, compiled(read('petstore')))
    const planOf = (api: McpApi): { parameters: unknown[] } =>
      JSON.parse(api.tools.find(({ name }) => name === 'deletePet')!.plan)
    const other = compiled(read('petstore'), { auth: keyAuth('x', { header: { name: 'api_key' } }) })
    deepEqual([planOf(first).parameters.length, planOf(other).parameters.length], [2, 1])
    const names = (include: string[], exclude: string[] = []): string[] =>
      compiled(read('petstore'), { operations: { include, exclude } }).tools.map(({ name }) => name)
    deepEqual(names(['getPet*', 'POST /pet']), ['addPet', 'getPetById'])
    deepEqual(names(['tag:store'], ['* /store/order/*']), ['getInventory', 'placeOrder'])
    deepEqual(
      names(['*User*'], ['*WithList*', 'GET *']),
      names(['*User*']).filter((name) => !/WithList/.test(name))
    )
  })

  it('are distinguished by every part', () => {
    const [one, two] = ['a', 'b'].map((operationId) =>
      compiled({ openapi: '3.1.0', paths: { '/': { get: { operationId } } } })
    )
    deepEqual([one!.tools[0]!.name, two!.tools[0]!.name], ['a', 'b'])
  })
})

describe('the selection of operations', () => {
  const warned: string[] = []
  const api = (
    operations: object | undefined,
    paths: object = { '/a': { get: { operationId: 'pets', tags: ['x'] } } }
  ) => {
    const document = { openapi: '3.1.0', paths } as Node
    const base = { kind: 'openapi', name: 'a', authorization: null, host: 'a', port: 1, hasTls: false, pathPrefix: '' }
    const target = { ...base, auth: null, document, operations } as unknown as McpOpenApiTarget
    const compiled = compiledApi(target, 'at')
    warned.push(...compiled.warnings.map(({ path, message }) => `${path}: ${message}`))
    return compiled
  }
  const only = (include: string[], exclude: string[] = []) => ({ include, exclude })

  it('warns of patterns that match nothing, with a suggestion', () => {
    warned.length = 0
    api(only(['pets', 'pet', 'FETCH /a', 'tag:', 'tag:y', 'GET /b', 'frobnicate'], ['* /none']))
    deepEqual(warned, [
      'at.operations.include[1]: "pet" matches no operation: did you mean "pets"?',
      'at.operations.include[2]: "FETCH /a" matches no operation: did you mean "GET /a"?',
      'at.operations.include[3]: "tag:" matches no operation: did you mean "tag:x"?',
      'at.operations.include[4]: "tag:y" matches no operation: did you mean "tag:x"?',
      'at.operations.include[5]: "GET /b" matches no operation: did you mean "GET /a"?',
      'at.operations.include[6]: "frobnicate" matches no operation: there are pets',
      'at.operations.exclude[0]: "* /none" matches no operation: there are GET /a'
    ])
  })

  it('must not be empty: a target without a tool is refused', () => {
    const refused = (message: RegExp, ...args: Parameters<typeof api>) =>
      throws(() => api(...args), { name: 'ConfigError', message })
    refused(/^at\.operations\.include\[0\]: "nope" matches no operation: there are pets$/, only(['nope']))
    refused(/^at\.operations: none of the 1 operations of the document is left$/, only([], ['*']))
    refused(/^at\.document\.paths: there is no operation/, undefined, {})
    refused(/^at\.document\.paths: there is no operation/, only(['nope']), { '/a': {} })
  })

  it('warns of parameters that cannot be sent', () => {
    warned.length = 0
    const parameters = [{ name: 'q', in: 'nowhere' }, { in: 'query' }, { name: 'id', in: 'path' }, { name: 'z' }]
    api(undefined, { '/a': { get: { parameters: [...parameters, { name: 'ok', in: 'query' }] } } })
    deepEqual(warned, [
      'at.document: paths["/a"].get: parameter "q": in: "nowhere" is none of path, query, header, cookie: left out',
      'at.document: paths["/a"].get: a parameter has no name: left out',
      'at.document: paths["/a"].get: parameter "id" is not in the path: left out',
      'at.document: paths["/a"].get: parameter "z": in: nothing is none of path, query, header, cookie: left out'
    ])
  })
})

describe('documents that are refused', () => {
  const refused = (root: unknown, message: RegExp): void => throws(() => operations(root), message)
  const withRef = ($ref: string): Node =>
    one({ parameters: [{ $ref }] }, { components: { a: { $ref: '#/components/a' } } })

  it('of other versions', () => {
    refused(
      { swagger: '1.2' },
      /doc\.openapi: only OpenAPI 3\.0 to 3\.2 and Swagger 2\.0 are understood \(this is Swagger 1\.2\)/
    )
    refused({ openapi: 3 }, /only OpenAPI/)
  })

  it('with references that lead nowhere, elsewhere, or in a circle', () => {
    refused(
      withRef('#/components/none'),
      /doc\.paths\["\/a"\]\.get\.parameters: \$ref "#\/components\/none": .* no such/
    )
    refused(withRef('https://example.com/a.json'), /only "#\/\.\.\." within the document/)
    refused(withRef('#/constructor'), /no such part/)
    refused(withRef('#/components/a'), /refers to itself/)
  })

  it('beyond a limit', () => {
    let deep: unknown = {}
    for (let i = 0; i < 200; i++) deep = { deep }
    refused({ openapi: '3.0.0', deep }, /nested deeper than 128/)
    let bomb: unknown = Array(100).fill('x')
    for (let i = 0; i < 8; i++) bomb = Array(100).fill(bomb)
    refused({ openapi: '3.0.0', bomb }, /more than 1000000 values/)
    refused({ openapi: '3.0.0', text: Array(100).fill('x'.repeat(400_000)) }, /more than 33554432 characters/)
    const paths = Object.fromEntries(Array.from({ length: OPERATIONS_MAX + 1 }, (_, i) => [`/${i}`, { get: {} }]))
    refused({ openapi: '3.0.0', paths }, /doc\.paths: more than 4096 operations: say which operations are wanted/)
  })

  it('with invalid paths', () => {
    for (const path of ['a', '/a?b=1', '/a#b', '/a b', '/a\r\nb']) refused(one({}, { path }), /a path begins with/)
  })
})
