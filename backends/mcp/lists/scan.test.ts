/** Pages read from their bytes say what parsing them says, or nothing. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Names } from '#backends/mcp/names/names.ts'
import type { JsonObject, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { isInvalid, parseMessage } from '#backends/mcp/protocol/parse-message.ts'
import { LISTS } from './kinds.ts'
import { detached, lengthOf, type Page, pageOf, pageOfResult, writeItems } from './page.ts'
import { scanList } from './scan.ts'

const TOOLS = LISTS.get('tools/list')!
const RESOURCES = LISTS.get('resources/list')!
const ONE = new Names(['a'], 'conditional')
const MANY = new Names(['a', 'b'], 'conditional')

/** Items of the page, as clients get them. */
function shown(page: Page): JsonObject[] {
  if (page.names.length === 0) return []
  const last = page.names.length - 1
  const out = Buffer.alloc(lengthOf(page, 0, last))
  equal(writeItems(page, 0, last, out, 0), out.length)
  const each = page.names.map((_, i) => {
    const item = Buffer.alloc(lengthOf(page, i, i))
    equal(writeItems(page, i, i, item, 0), item.length)
    return JSON.parse(item.toString()) as JsonObject
  })
  deepEqual(JSON.parse(`[${out}]`), each)
  return each
}

/** What both ways say of the page; null: it is no response. */
function read(text: string | Buffer, kind = TOOLS, names = MANY) {
  const bytes = Buffer.from(text)
  const page = pageOf(bytes, 1, 'a', kind, names)
  // Whose id and version it is, and that it is a response, has been looked at by who calls.
  const isScanned = scanList(bytes, kind.key, kind.by) !== null
  const message = isScanned ? (JSON.parse(bytes.toString()) as RpcResponse) : parseMessage(bytes)
  const isAnswer = isScanned || (!isInvalid(message) && !('method' in message) && message.id === 1)
  if (page === null || !isAnswer) {
    equal(page === null, !isAnswer, String(text))
    return null
  }
  if ('error' in page || !('result' in message)) {
    deepEqual(page, message)
    return null
  }
  const parsed = pageOfResult(message.result, 'a', kind, names)
  for (const one of [page, detached(page), detached(detached(page))]) {
    deepEqual(one.names, parsed.names)
    deepEqual(shown(one), shown(parsed))
    deepEqual([one.nextCursor, one.hints, one.isComplete], [parsed.nextCursor, parsed.hints, parsed.isComplete])
    deepEqual(JSON.parse(`{${one.otherMembers}}`), JSON.parse(`{${parsed.otherMembers}}`))
  }
  return page
}

const answer = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":${result}}`

describe('a page', () => {
  it('is the same whether its bytes are read or its value', () => {
    const items = [
      '{"name":"x"}',
      ' { "title" : "T\\u00fc" , "name" : "y" } \n',
      '{"inputSchema":{"name":"no","a":[1,-0.5e+3,true,false,null,{}],"b":[]},"name":"ü✓","description":"\\"q\\" \\\\ \\/"}',
      '{"name":"e\\u0073c\\"aped"}'
    ]
    const names = read(answer(`{"tools":[${items.join(',')}],"nextCursor":"\\u0063"}`))?.names
    deepEqual(names, ['x', 'y', 'ü✓', 'esc"aped'])
    ok(scanList(Buffer.from(answer(`{"tools":[${items.join(',')}]}`)), 'tools', 'name') !== null, 'without parsing')
    for (const all of [ONE, MANY, new Names(['a'], 'always'), new Names(['a', 'b'], 'never')])
      read(answer(`{"tools":[${items.join(', ')}]}`), TOOLS, all)
    read(answer('{"tools":[],"_meta":{"a":1},"ttlMs":5,"cacheScope":"public","resultType":"complete","more":"ü"}'))
    read(answer('{"ttlMs":-5,"tools":[{"name":"x","_meta":{"ui":{"resourceUri":"ui://p/q"}}}],"resultType":"other"}'))
  })

  it('names places of every form', () => {
    const uris = ['file:///x', 'ui://app/x', 'ui:\\/\\/app\\/y', 'http:\\/\\/h', '']
    for (const uri of uris) {
      const page = read(answer(`{"resources":[{"uri":"${uri}"},{"uri":"b:c","name":"n"}]}`), RESOURCES)
      ok(page !== null)
      ok(/^(?:a\+|ui:\/\/a\+)/.test(String(shown(page)[0]!.uri)))
    }
  })

  it('is left to a parser where bytes alone may mean something else', () => {
    const doubtful = [
      answer('{"tools":[{"name":"x","name":"b_y"}]}'),
      answer('{"tools":[{"n\\u0061me":"x"}]}'),
      answer('{"tools":[{"name":"x"}],"tools":[]}'),
      answer('{"tools":[1,{"name":2},{"name":"x"}]}'),
      answer('{"tools":{}}'),
      answer('{}'),
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[]},"result":{"tools":[{"name":"x"}]}}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}'
    ]
    for (const text of doubtful) {
      equal(scanList(Buffer.from(text), 'tools', 'name'), null, text)
      read(text)
    }
  })

  it('is nothing where one byte is wrong, however it is wrong', () => {
    const good = answer(
      '{"tools":[{"name":"x","s":{"a":[1.5,-2e9,true,null],"b":"\\u00fc\\n"}},{"name":"y"}],"nextCursor":"z"}'
    )
    let seed = 7
    const random = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return seed / 2 ** 31
    }
    const odd = [
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '0',
      '-',
      '.',
      'e',
      'u',
      ' ',
      '\n',
      '\u0000',
      '\u001f',
      'ü',
      ''
    ]
    for (let at = 0; at < good.length; at++) {
      read(good.slice(0, at))
      read(good.slice(0, at) + good.slice(at + 1))
      for (let i = 0; i < 6; i++) {
        const put = odd[Math.floor(random() * odd.length)]!
        read(good.slice(0, at) + put + good.slice(at))
        read(good.slice(0, at) + put + good.slice(at + 1))
      }
    }
    equal(scanList(Buffer.from(good.replace('x', '\xff'), 'latin1'), 'tools', 'name'), null)
    equal(read(answer(`{"tools":[{"name":"x","s":${'['.repeat(70)}${']'.repeat(70)}}]}`)), null)
  })
})
