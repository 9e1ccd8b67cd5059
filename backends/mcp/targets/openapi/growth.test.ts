/** Documents cost in proportion to their length and to their tools, hostile ones included. */
import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertLinear } from '#engine/testing/cpu.ts'
import { compiledApi } from './api.ts'
import { Document, type Node } from './document.ts'
import { ALL_OPERATIONS } from './operation-filter.ts'
import { OPERATIONS_MAX, type Operations, readOperations } from './operations.ts'

const operations = (root: Node): Operations =>
  readOperations(new Document(root, 'doc'), { authHeader: null, filter: ALL_OPERATIONS })

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const refTo = (name: string): Node => ({ $ref: `#/components/schemas/${name}` })
const posting = (schema: unknown): Node => ({ post: { requestBody: { content: { 'application/json': { schema } } } } })

/** `count` operations, which all have the body `schema`, and one that has none. */
function sharing(count: number, schema: unknown, schemas: Node = {}): Node {
  const paths = Object.fromEntries(times(count, (i) => [`/${i}`, posting(schema)]))
  return { openapi: '3.0.3', paths: { ...paths, '/small': { get: {} } }, components: { schemas } }
}

const values = (count: number): string[] => times(count, (i) => `value-${i}`)

/** Both operations and what they share grow with n. */
const SHAPES: Readonly<Record<string, readonly [n: number, (n: number) => Node]>> = {
  'one enumeration': [8, (n) => sharing(n, refTo('E'), { E: { type: 'string', enum: values(300 * n) } })],
  'schemas that refer to each other in rings': [
    16,
    (n) => {
      const described = (of: number) => ({ allOf: [refTo(`S${of % n}`)], description: 'word '.repeat(90) })
      const ring = times(n, (i): [string, Node] => {
        return [`S${i}`, { properties: Object.fromEntries(times(12, (j) => [`p${j}`, described(i * 7 + j)])) }]
      })
      return sharing(n, refTo('S0'), Object.fromEntries(ring))
    }
  ],
  'a chain of references': [
    8,
    (n) => {
      const chain = times(200 * n, (i): [string, Node] => [`S${i}`, { items: refTo(`S${i + 1}`) }])
      return sharing(n, refTo('S0'), { ...Object.fromEntries(chain), [`S${200 * n}`]: { type: 'string' } })
    }
  ],
  'a wide choice': [
    8,
    (n) => {
      const choices = times(100 * n, (i): [string, Node] => [`S${i}`, { type: 'object', title: `choice ${i}` }])
      const oneOf = choices.map(([name]) => refTo(name))
      return sharing(n, refTo('Any'), { ...Object.fromEntries(choices), Any: { oneOf } })
    }
  ],
  'schemas of one name': [
    4,
    (n) => {
      const nested = times(150 * n, (i): [string, Node] => [`S${i}`, { properties: { same: { type: 'string' } } }])
      const allOf = nested.map(([name]) => refTo(`${name}/properties/same`))
      return sharing(n, refTo('All'), { ...Object.fromEntries(nested), All: { allOf } })
    }
  ],
  'one path item with a long description': [
    8,
    (n) => {
      const item = { get: { description: ' '.repeat(4000 * n) + 'word '.repeat(4000 * n), deprecated: true } }
      return { openapi: '3.1.0', paths: Object.fromEntries(times(n, (i) => [`/${i}`, { $ref: '#/item' }])), item }
    }
  ],
  'one parameter': [
    8,
    (n) => {
      const get = { parameters: [{ $ref: '#/components/parameters/P' }] }
      const P = { name: 'p', in: 'query', schema: { enum: values(300 * n) } }
      const paths = Object.fromEntries(times(n, (i) => [`/${i}`, { get }]))
      return { openapi: '3.0.3', paths, components: { parameters: { P } } }
    }
  ],
  'one schema in many media types': [
    8,
    (n) => {
      const schema = { type: 'object', description: 'word '.repeat(2000) }
      const content = Object.fromEntries(times(20 * n, (i) => [`application/x${i}+json`, { schema }]))
      return { openapi: '3.0.3', paths: { '/': { post: { requestBody: { content } } } } }
    }
  ],
  'one parameter of Swagger': [
    8,
    (n) => {
      const get = { parameters: [{ $ref: '#/parameters/P' }] }
      const P = { name: 'p', in: 'query', type: 'string', enum: values(300 * n) }
      return { swagger: '2.0', paths: Object.fromEntries(times(n, (i) => [`/${i}`, { get }])), parameters: { P } }
    }
  ],
  'what is no operation': [
    200,
    (n) => ({ openapi: '3.0.3', paths: { '/': { get: {} } }, 'x-rest': times(20 * n, (i) => ({ [`k${i}`]: [i] })) })
  ]
}

describe('the time for a document is linear in its size', () => {
  for (const [what, [size, document]] of Object.entries(SHAPES)) {
    it(what, () => {
      const made = new Map<number, Node>()
      assertLinear(what, size, (n) => {
        const root = made.get(n) ?? document(n)
        made.set(n, root)
        operations(root)
      })
    })
  }
})

describe('the size of tools', () => {
  const chars = ({ tools }: Operations): number => tools.reduce((sum, { tool }) => sum + tool.length, 0)

  it('does not include a large enumeration', () => {
    const all = operations(sharing(300, refTo('E'), { E: { type: 'string', enum: values(25_000) } }))
    equal(all.tools.length, 301)
    ok(chars(all) < 300 * 1024, String(chars(all)))
    // One that may help stays, also in a tool that has to be made smaller.
    const long = { type: 'object', properties: { a: refTo('E'), b: { description: 'word '.repeat(9000) } } }
    const [small] = operations(sharing(1, long, { E: { enum: values(200) } })).tools
    match(small!.tool, /"value-199"/)
  })

  it('keeps references if inlining them would not end', () => {
    const chain = Object.fromEntries(times(200, (i): [string, Node] => [`S${i}`, { items: refTo(`S${i + 1}`) }]))
    const [only] = operations(sharing(1, refTo('S0'), { ...chain, S200: { type: 'string' } })).tools
    match(only!.tool, /"\$ref":"#\/\$defs\/S\d+"/)
  })
})

describe('a document has limits as a whole', () => {
  const refused = (root: Node, message: RegExp): void => throws(() => operations(root), message)

  it('on the characters of its tools', () => {
    // Each is as large as a tool may be, and none can say less.
    const properties = Object.fromEntries(times(11_000, (i) => [`property-${i}`, {}]))
    const at = /^doc\.paths\["\/\d+"\]\.post: the tools of the document have more than 16777216 characters: say which/
    refused(sharing(300, refTo('All'), { All: { type: 'object', properties } }), withName(at))
  })

  it('on the work to make them', () => {
    const parameters = times(2000, (i) => ({ name: `X-Forwarded-${i}`, in: 'header' }))
    const item = { parameters, get: {} }
    const paths = Object.fromEntries(times(OPERATIONS_MAX - 1, (i) => [`/${i}`, { $ref: '#/item' }]))
    const at = /^doc\.paths\["\/\d+"\]\.get: to make tools of the document takes more than 2000000 steps: say which/
    refused({ openapi: '3.0.3', paths, item }, withName(at))
  })

  it('on messages about mistakes', () => {
    const parameters = times(1000, (i) => ({ name: `p${i}`, in: 'nowhere' }))
    const { skipped } = operations({ openapi: '3.0.3', paths: { '/': { get: { parameters } } } })
    deepEqual([skipped.length, skipped.at(-1)], [257, '744 more operations and parameters'])
    const long = `/${'x'.repeat(100_000)}`
    throws(
      () => operations({ openapi: '3.0.3', paths: { [long]: { get: {} } } }),
      ({ message }: Error) => message.length < 500 && /a path has at most 8192 characters/.test(message)
    )
  })

  it('which apply before aliases of YAML are expanded', () => {
    const text = 'x'.repeat(1024 * 1024)
    const document = { openapi: '3.0.3', paths: { '/': { get: {} } }, 'x-rest': times(100_000, () => text) }
    const target = { kind: 'openapi', name: 'a', document, auth: null } as unknown as Parameters<typeof compiledApi>[0]
    throws(() => compiledApi(target, 'at'), /^ConfigError: at\.document\.openapi: the document has more than 33554432/)
  })

  it('far above what a document with a thousand operations needs', () => {
    const schema = { properties: Object.fromEntries(times(60, (i) => [`p${i}`, { description: 'word '.repeat(20) }])) }
    equal(operations(sharing(1500, refTo('S'), { S: schema })).tools.length, 1501)
  })
})

/** As errors are matched: with their name before the message. */
const withName = ({ source }: RegExp): RegExp => new RegExp(source.replace('^', '^ConfigError: '))
