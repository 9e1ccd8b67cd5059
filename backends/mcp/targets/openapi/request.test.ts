/** Arguments as requests: styles as the specification shows them, and what hostile arguments try. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { Document } from './document.ts'
import { ALL_OPERATIONS } from './operation-filter.ts'
import { readOperations } from './operations.ts'
import type { Operation } from './plan.ts'
import { type WrittenRequest, writeRequest } from './request.ts'
import { ArgumentError } from './serialize.ts'

function operation(node: object, path = '/x'): Operation {
  const document = new Document({ openapi: '3.1.0', paths: { [path]: { post: node } } }, 'doc')
  return [...readOperations(document, { authHeader: null, filter: ALL_OPERATIONS }).byName.values()][0]!
}

function write(target: Operation, args: unknown, headers = new HeaderBlock()): WrittenRequest & { lines: string } {
  return { ...writeRequest(target, args as JsonObject, '', headers), lines: headers.lines() }
}

/** One parameter of a place and style, sent. */
function sent(place: string, more: object, value: JsonValue): string {
  const path = place === 'path' ? '/x/{color}' : '/x'
  const target = operation({ parameters: [{ name: 'color', in: place, schema: {}, ...more }] }, path)
  const { path: written, query, lines } = write(target, { [place]: { color: value } })
  return place === 'path' ? written.slice(3) : place === 'query' ? query.slice(1) : lines.trim()
}

const LIST = ['blue', 'black']
const OBJECT = { R: 100, G: 200 }

describe('styles', () => {
  const TABLE: readonly [string, object, string, string, string][] = [
    ['path', {}, 'a%20b', 'blue,black', 'R,100,G,200'],
    ['path', { explode: true }, 'a%20b', 'blue,black', 'R=100,G=200'],
    ['path', { style: 'label' }, '.a%20b', '.blue,black', '.R,100,G,200'],
    ['path', { style: 'label', explode: true }, '.a%20b', '.blue.black', '.R=100.G=200'],
    ['path', { style: 'matrix' }, ';color=a%20b', ';color=blue,black', ';color=R,100,G,200'],
    ['path', { style: 'matrix', explode: true }, ';color=a%20b', ';color=blue;color=black', ';R=100;G=200'],
    ['query', {}, 'color=a%20b', 'color=blue&color=black', 'R=100&G=200'],
    ['query', { explode: false }, 'color=a%20b', 'color=blue,black', 'color=R,100,G,200'],
    ['query', { style: 'spaceDelimited' }, 'color=a%20b', 'color=blue%20black', 'color=R%20100%20G%20200'],
    ['query', { style: 'pipeDelimited' }, 'color=a%20b', 'color=blue%7Cblack', 'color=R%7C100%7CG%7C200'],
    [
      'query',
      { style: 'deepObject' },
      'color=a%20b',
      'color%5B%5D=blue&color%5B%5D=black',
      'color%5BR%5D=100&color%5BG%5D=200'
    ],
    ['header', {}, 'color: a b', 'color: blue,black', 'color: R,100,G,200'],
    ['header', { explode: true }, 'color: a b', 'color: blue,black', 'color: R=100,G=200'],
    ['cookie', {}, 'Cookie: color=a%20b', 'Cookie: color=blue%2Cblack', 'Cookie: color=R%2C100%2CG%2C200']
  ]
  for (const [place, more, text, list, object] of TABLE) {
    it(`${place} ${JSON.stringify(more)}`, () => {
      deepEqual(
        ['a b', LIST, OBJECT].map((value) => sent(place, more, value)),
        [text, list, object]
      )
    })
  }

  it('JSON as content, reserved characters, nested values', () => {
    equal(
      sent('query', { schema: undefined, content: { 'application/json': {} } }, OBJECT),
      `color=%7B%22R%22%3A100%2C%22G%22%3A200%7D`
    )
    equal(sent('query', { allowReserved: true }, 'a/b:c&d=e#f'), 'color=a/b:c%26d%3De%23f')
    equal(
      sent('query', { style: 'deepObject' }, { a: { b: [1, 2] } }),
      'color%5Ba%5D%5Bb%5D%5B%5D=1&color%5Ba%5D%5Bb%5D%5B%5D=2'
    )
    equal(
      sent('query', { style: 'deepObject' }, [{ a: 1 }, { b: [2] }]),
      'color%5B0%5D%5Ba%5D=1&color%5B1%5D%5Bb%5D%5B%5D=2'
    )
    equal(sent('query', {}, [{ a: 1 }, true]), 'color=%7B%22a%22%3A1%7D&color=true')
  })
})

describe('hostile arguments', () => {
  const refused = (run: () => unknown, message: RegExp): void =>
    throws(run, (error: Error) => error instanceof ArgumentError && message.test(error.message))

  it('cannot change the path', () => {
    for (const value of ['..', '.', '../admin', 'a/../b', '..\\x', 'x/..', '..;/x']) {
      refused(() => sent('path', {}, value), /"\." and "\.\." cannot be sent/)
    }
    refused(() => sent('path', {}, ['..']), /cannot be sent/)
    refused(() => sent('path', { style: 'label' }, ''), /cannot be sent/)
    refused(() => sent('path', {}, ''), /must not be empty/)
    equal(sent('path', {}, 'a/b?c#d%2e\r\n'), 'a%2Fb%3Fc%23d%252e%0D%0A')
    equal(sent('path', {}, '...'), '...')
    equal(sent('path', {}, '\ud800'), '%EF%BF%BD')
  })

  it('cannot add parameters to a query', () => {
    equal(sent('query', {}, 'a&admin=1#x'), 'color=a%26admin%3D1%23x')
    equal(sent('query', { explode: false }, ['a,b', 'c']), 'color=a%2Cb,c')
    equal(sent('query', {}, { 'a=1&b': '2' }), 'a%3D1%26b=2')
    equal(sent('query', { style: 'deepObject' }, { 'x]=1&y[': '2' }), 'color%5Bx%5D%3D1%26y%5B%5D=2')
  })

  it('cannot add header lines', () => {
    for (const value of ['a\r\nHost: b', 'a\nb', 'a\0', 'ü', ['a', '\r']]) {
      refused(() => sent('header', {}, value), /only ASCII without control characters/)
    }
    equal(sent('cookie', {}, 'a; admin=1\r\n'), 'Cookie: color=a%3B%20admin%3D1%0D%0A')
  })

  it('cannot replace a field that is already there', () => {
    const headers = new HeaderBlock()
    headers.append('X-Trace', 'ours')
    const target = operation({ parameters: [{ name: 'x-trace', in: 'header', schema: {} }] })
    equal(write(target, { header: { 'x-trace': 'theirs' } }, headers).lines, 'X-Trace: ours\r\n')
  })

  it('must be known to the tool', () => {
    const target = operation({ parameters: [{ name: 'q', in: 'query', required: true }] })
    refused(() => write(target, { other: 1 }), /"other": arguments are path, query, header, cookie and body/)
    refused(() => write(target, { query: { q: 1, z: 2 } }), /query\."z": the tool has no such parameter/)
    refused(() => write(target, { query: { constructor: 1 } }), /no such parameter/)
    refused(() => write(target, {}), /query\.q: it is required/)
    refused(() => write(target, { query: { q: null } }), /query\.q: it is required/)
    refused(() => write(target, { query: [] }), /query: it must be an object/)
    refused(() => write(target, { query: { q: 1 }, body: {} }), /body: the tool has none/)
    const inherited = operation({ parameters: [{ name: 'toString', in: 'query', required: true }] })
    refused(() => write(inherited, { query: {} }), /query\.toString: it is required/)
  })

  it('are bounded', () => {
    const target = operation({ parameters: [{ name: 'q', in: 'query' }] })
    let deep: JsonValue = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    refused(() => write(target, { query: { q: deep } }), /nested deeper than 64/)
    refused(() => write(target, { query: { q: 'x'.repeat(20_000) } }), /longer than 16384/)
    refused(() => sent('header', {}, 'x'.repeat(10_000)), /longer than 8192/)
    refused(() => sent('cookie', {}, 'x'.repeat(10_000)), /longer than 8192/)
  })
})

describe('bodies', () => {
  const withBody = (type: string, more: object = {}): Operation =>
    operation({ requestBody: { required: true, content: { [type]: { schema: {}, ...more } } } })
  const sentBody = (target: Operation, body: JsonValue): [string, string] => {
    const written = write(target, { body })
    return [written.lines, written.body!.toString('latin1')]
  }

  it('JSON, forms, text, bytes', () => {
    deepEqual(sentBody(withBody('application/json'), { a: null }), ['Content-Type: application/json\r\n', '{"a":null}'])
    deepEqual(sentBody(withBody('application/json'), null)[1], 'null')
    deepEqual(
      sentBody(withBody('application/x-www-form-urlencoded'), { a: 'x y&', b: [1, 2], c: { d: 1 } })[1],
      'a=x%20y%26&b=1&b=2&c=%7B%22d%22%3A1%7D'
    )
    const encoding = { b: { style: 'pipeDelimited', explode: false }, c: { style: 'deepObject' } }
    deepEqual(
      sentBody(withBody('application/x-www-form-urlencoded', { encoding }), { b: [1, 2], c: { d: 1 } })[1],
      'b=1%7C2&c%5Bd%5D=1'
    )
    deepEqual(sentBody(withBody('text/csv'), 'a,b'), ['Content-Type: text/csv\r\n', 'a,b'])
    deepEqual(sentBody(withBody('image/png'), Buffer.from([0, 255]).toString('base64'))[1], '\0\xff')
  })

  it('must be of the right type', () => {
    const refused = (type: string, body: JsonValue | undefined, message: RegExp): void =>
      throws(() => write(withBody(type), { body }), message)
    refused('application/json', undefined, /body: it is required/)
    refused('text/plain', {}, /body: it must be text/)
    refused('text/plain', null, /body: it is required/)
    refused('image/png', 'not base64!', /body: it must be base64/)
    refused('application/x-www-form-urlencoded', [], /body: it must be an object/)
    ok(write(withBody('image/png'), { body: 'AA' }).body)
  })
})

describe('bodies of several kinds', () => {
  const content = {
    'application/merge-patch+json': { schema: { type: 'object' } },
    'application/json-patch+json': { schema: { type: 'object' } },
    'application/apply-patch+yaml': { schema: { type: 'object' } }
  }
  const patch = operation({ requestBody: { content } })
  const typeOf = (args: JsonObject): string => write(patch, args).lines.trim().replace('Content-Type: ', '')

  it('are written by the type of the value, or as the caller says', () => {
    equal(typeOf({ body: { a: 1 } }), 'application/merge-patch+json')
    equal(typeOf({ body: [{ op: 'remove', path: '/a' }] }), 'application/json-patch+json')
    equal(typeOf({ body: 'a: 1\n' }), 'application/apply-patch+yaml')
    equal(typeOf({ body: {}, contentType: 'application/apply-patch+yaml' }), 'application/apply-patch+yaml')
    equal(write(patch, { body: { a: 1 }, contentType: 'application/apply-patch+yaml' }).body!.toString(), '{"a":1}')
    throws(() => typeOf({ body: {}, contentType: 'text/plain' }), /contentType: it must be application\/merge-patch/)
    throws(() => typeOf({ body: {}, contentType: 'a\r\nb' }), ArgumentError)
  })

  it('Stripe: lists, and lists of objects, in forms', () => {
    const deep = { style: 'deepObject', explode: true }
    const media = { schema: {}, encoding: { expand: deep, items: deep, metadata: deep } }
    const target = operation({ requestBody: { content: { 'application/x-www-form-urlencoded': media } } })
    const body = {
      expand: ['customer', 'a b'],
      items: [{ price: 'p', metadata: { k: 'v' } }],
      metadata: { a: 1 },
      n: 1
    }
    equal(
      decodeURIComponent(write(target, { body }).body!.toString()),
      'expand[]=customer&expand[]=a b&items[0][price]=p&items[0][metadata][k]=v&metadata[a]=1&n=1'
    )
  })

  const form = operation({
    requestBody: {
      content: {
        'multipart/form-data': {
          schema: {
            type: 'object',
            properties: {
              file: { type: 'string', contentMediaType: 'application/octet-stream' },
              tags: { type: 'array', items: { type: 'string', format: 'uuid' } },
              about: { type: 'object' }
            }
          },
          encoding: { file: { contentType: 'image/png' } }
        }
      }
    }
  })
  const partsOf = (body: JsonObject): string[] => {
    const { lines, body: bytes } = write(form, { body })
    const [, boundary] = /^Content-Type: multipart\/form-data; boundary=([0-9a-f]{32})\r\n$/.exec(lines)!
    const text = bytes!.toString('latin1')
    ok(text.endsWith(`--${boundary}--\r\n`), text)
    return text
      .split(`--${boundary}\r\n`)
      .slice(1)
      .map((part) => part.replace(/\r\n(?:--.*\r\n)?$/, ''))
  }

  it('multipart: files with name and type, lists as parts of one name, objects as JSON', () => {
    const data = Buffer.from([0, 255]).toString('base64')
    deepEqual(partsOf({ file: { data, fileName: 'a"\r\nb.png', contentType: 'image/gif' } }), [
      'Content-Disposition: form-data; name="file"; filename="a%22%0D%0Ab.png"\r\nContent-Type: image/gif\r\n\r\n\0\xff'
    ])
    deepEqual(partsOf({ file: data, tags: ['x', 'y'], about: { a: 1 }, 'n"': 1, none: null }), [
      'Content-Disposition: form-data; name="file"; filename="file"\r\nContent-Type: image/png\r\n\r\n\0\xff',
      'Content-Disposition: form-data; name="tags"\r\n\r\nx',
      'Content-Disposition: form-data; name="tags"\r\n\r\ny',
      'Content-Disposition: form-data; name="about"\r\nContent-Type: application/json\r\n\r\n{"a":1}',
      'Content-Disposition: form-data; name="n%22"\r\n\r\n1'
    ])
  })

  it('multipart: files are found in allOf, in lists of types and in alternatives', () => {
    const FILE = { type: 'string', format: 'binary' }
    const FORMS: Record<string, object> = {
      allOf: { allOf: [{ type: 'object', properties: { a: { type: 'number' } } }, { properties: { file: FILE } }] },
      'allOf of allOf': { allOf: [{ allOf: [{ properties: { file: FILE } }] }], properties: { a: { type: 'number' } } },
      'allOf of the field': { properties: { file: { allOf: [FILE], description: 'A scan.' } } },
      'optional, as types': { properties: { file: { type: ['string', 'null'], format: 'binary' } } },
      'optional, as a choice': { properties: { file: { anyOf: [FILE, { type: 'null' }] } } },
      'several, as types': { properties: { file: { type: ['array', 'null'], items: FILE } } },
      'several, as a choice': { properties: { file: { anyOf: [{ type: 'array', items: FILE }, { type: 'null' }] } } }
    }
    for (const [how, schema] of Object.entries(FORMS)) {
      const target = operation({ requestBody: { required: true, content: { 'multipart/form-data': { schema } } } })
      const { body } = write(target, { body: { file: { data: 'AP8=', fileName: 'a.png' } } })
      ok(
        body!.toString('latin1').includes('; filename="a.png"\r\nContent-Type: application/octet-stream\r\n\r\n\0\xff'),
        how
      )
      ok(JSON.stringify(target).includes('fileName'), how)
    }
  })

  it('multipart: a value that is not a file is refused', () => {
    const refused = (file: JsonValue, message: RegExp): void => throws(() => partsOf({ file }), message)
    refused('no base64!', /body\.file\.data: it must be base64/)
    refused({}, /body\.file\.data: it must be text/)
    refused({ data: 'AA==', fileName: 1 }, /body\.file\.fileName: it must be text/)
    refused({ data: 'AA==', contentType: 'a\r\nb' }, /body\.file\.contentType: it must be a media type/)
    throws(() => write(form, { body: [] }), /body: it must be an object/)
  })
})

describe('Swagger 2.0', () => {
  const swagger = (node: object, root: object = {}, path = '/x'): Operation => {
    const document = new Document({ swagger: '2.0', paths: { [path]: { post: node } }, ...root }, 'doc')
    return [...readOperations(document, { authHeader: null, filter: ALL_OPERATIONS }).byName.values()][0]!
  }

  it('collectionFormat', () => {
    const queries: [string | undefined, string][] = [
      [undefined, 'c=a,b'],
      ['csv', 'c=a,b'],
      ['ssv', 'c=a%20b'],
      ['tsv', 'c=a%09b'],
      ['pipes', 'c=a%7Cb'],
      ['multi', 'c=a&c=b']
    ]
    for (const [collectionFormat, query] of queries) {
      const parameter = { name: 'c', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat }
      equal(write(swagger({ parameters: [parameter] }), { query: { c: ['a', 'b'] } }).query, `?${query}`)
    }
    const inPath = { name: 'c', in: 'path', type: 'array', items: { type: 'string' }, required: true }
    equal(write(swagger({ parameters: [inPath] }, {}, '/x/{c}'), { path: { c: ['a', 'b'] } }).path, '/x/a,b')
  })

  it('bodies, forms and files', () => {
    const definitions = { Pet: { type: 'object', properties: { owner: { $ref: '#/definitions/Pet' } } } }
    const body = { name: 'whatever', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } }
    const json = swagger({ parameters: [{ $ref: '#/parameters/pet' }] }, { definitions, parameters: { pet: body } })
    deepEqual((json.tool.inputSchema as JsonObject).required, ['body'])
    deepEqual(Object.keys((json.tool.inputSchema as { $defs: object }).$defs), ['Pet'])
    equal(write(json, { body: { owner: {} } }).lines, 'Content-Type: application/json\r\n')
    const fields = [
      { name: 'a', in: 'formData', type: 'array', items: { type: 'string' }, collectionFormat: 'multi' },
      { name: 'b', in: 'formData', type: 'integer', required: true }
    ]
    const form = swagger(
      { parameters: fields },
      { consumes: ['multipart/form-data', 'application/x-www-form-urlencoded'] }
    )
    equal(write(form, { body: { a: ['x', 'y'], b: 1 } }).body!.toString(), 'a=x&a=y&b=1')
    const file = swagger({ parameters: [...fields, { name: 'f', in: 'formData', type: 'file', description: 'It.' }] })
    const { body: bytes } = write(file, { body: { f: { data: 'QQ==', fileName: 'a.txt' } } })
    ok(bytes!.includes('name="f"; filename="a.txt"'))
  })
})
