/** Lists of thousands of tools that never change: how often what is worked on, not how long it takes. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Names } from '#backends/mcp/names/names.ts'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { openApiKind } from '#backends/mcp/targets/openapi/target.ts'
import type { StaticItem, Target } from '#backends/mcp/targets/target.ts'
import { INITIALIZE, post } from '#backends/mcp/testing/gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { LISTS } from './kinds.ts'
import { type Page, pageOfResult } from './page.ts'
import { staticPages } from './static-list.ts'

const METHOD = 'tools/list'
const KIND = LISTS.get(METHOD)!

const tool = (i: number): JsonObject => ({
  name: `tool_${i}`,
  description: 'wörd '.repeat(80),
  inputSchema: { type: 'object' }
})

/** A target whose texts are counted as they are read, and which cannot be asked. */
function targetOf(tools: readonly JsonObject[]): { target: Target; reads: () => number } {
  let reads = 0
  const items = tools.map((one): StaticItem => {
    const json = JSON.stringify(one)
    return {
      name: one.name as string,
      get json() {
        reads++
        return json
      }
    }
  })
  const open = (): never => {
    throw new Error('nobody is asked')
  }
  return {
    target: { name: 'a', traits: openApiKind.traits, staticLists: new Map([[METHOD, items]]), open },
    reads: () => reads
  }
}

function written(target: Target, names: Names): { pages: readonly Page[]; turns: number } {
  for (let turns = 1; ; turns++) {
    const pages = staticPages(target, METHOD, KIND, names)
    if (pages !== null) return { pages: pages ?? [], turns }
  }
}

const bytesOf = (pages: readonly Page[]): string => pages.map(({ json }) => json.toString()).join()

describe('a list that never changes', () => {
  const tools = Array.from({ length: 4000 }, (_, i) => tool(i))

  it('is written once, a page in a turn, however often it is requested', () => {
    const { target, reads } = targetOf(tools)
    const names = new Names(['a', 'b'], 'conditional')
    const { pages, turns } = written(target, names)
    equal(turns, pages.length)
    ok(pages.length > 3, String(pages.length))
    for (const { json } of pages) ok(json.length < 700 * 1024, String(json.length))
    equal(reads(), tools.length)
    for (let i = 0; i < 100; i++) equal(staticPages(target, METHOD, KIND, names), pages)
    equal(reads(), tools.length)
  })

  it('has the bytes that it would have if it were read', () => {
    for (const names of [new Names(['a', 'b'], 'conditional'), new Names(['a'], 'never'), new Names(['a'], 'always')]) {
      const odd = [
        { description: 'behind', name: 'its name' },
        { name: 'a"b' },
        { name: 'ü', _meta: { ui: { resourceUri: 'ui://x' } } }
      ]
      const all = [...tools.slice(0, 10), ...odd]
      const { pages } = written(targetOf(all).target, names)
      const read = pageOfResult({ tools: all }, 'a', KIND, names)
      equal(bytesOf(pages), read.json.toString())
      deepEqual([pages[0]!.starts, pages[0]!.ends, pages[0]!.names], [read.starts, read.ends, read.names])
    }
  })

  it('is none of another method, nor of a target that has none', () => {
    const { target } = targetOf([])
    const names = new Names(['a'], 'never')
    deepEqual(staticPages(target, METHOD, KIND, names), [])
    equal(staticPages(target, 'prompts/list', LISTS.get('prompts/list')!, names), undefined)
    equal(staticPages({ name: 'a', traits: openApiKind.traits, open: target.open }, METHOD, KIND, names), undefined)
  })
})

describe('two APIs with thousands of tools behind one endpoint', () => {
  const document = (prefix: string, count: number): object => ({
    openapi: '3.0.3',
    paths: Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        `/${i}`,
        { get: { operationId: `${prefix}${i}`, description: 'word '.repeat(300) } }
      ])
    )
  })
  const target = (name: string, count: number) => ({
    name,
    openapi: { host: 'http://127.0.0.1:1', schema: document(name, count) }
  })
  const counts = [1223, 842] as const

  it('are one list, whose JSON is neither read nor written, with rules and without', async () => {
    const rules = { mcpAuthorization: { rules: ['!mcp.tool.name.endsWith("7")'] } }
    for (const policies of [{}, rules]) {
      const targets = [target('one', counts[0]), target('two', counts[1])]
      const gateway = await startGateway(JSON.stringify({ mcp: { port: 0, targets, policies } }))
      try {
        const url = `http://127.0.0.1:${gateway.port}/mcp`
        const first = await post(url, INITIALIZE)
        await first.text()
        const session = { 'mcp-session-id': first.headers.get('mcp-session-id')! }
        const ask = async (): Promise<string> =>
          await (await post(url, { jsonrpc: '2.0', id: 'list', method: METHOD }, session)).text()
        const before = await ask()
        const list = JSON.parse(before.replace(/^[^{]*data: /, '')) as { result: { tools: { name: string }[] } }
        const all = counts.flatMap((count, i) =>
          Array.from({ length: count }, (_, j) => `${['one', 'two'][i]}_${['one', 'two'][i]}${j}`)
        )
        const seen = policies === rules ? all.filter((name) => !name.endsWith('7')) : all
        deepEqual(
          list.result.tools.map(({ name }) => name),
          seen
        )
        const chars = await countJson(async () => equal(await ask(), before))
        ok(chars < 4096, String(chars))
      } finally {
        await gateway.close()
      }
    }
  })
})

/** Characters that JSON reads or writes meanwhile. */
async function countJson(work: () => Promise<void>): Promise<number> {
  const { parse, stringify } = JSON
  let chars = 0
  const count = (text: unknown): void => {
    if (typeof text === 'string') chars += text.length
  }
  JSON.parse = (text: string, ...more) => {
    count(text)
    return parse(text, ...more)
  }
  JSON.stringify = (value: unknown, ...more: unknown[]) => {
    const text = stringify(value, ...(more as [null]))
    count(text)
    return text
  }
  try {
    await work()
  } finally {
    Object.assign(JSON, { parse, stringify })
  }
  return chars
}
