/** Lists of each kind that is paged in a way of its own: a tenant gets its own of them, and learns of no others. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, runProgram } from '#engine/testing/program.ts'

const PAGE = 3
const [ANN, BOB] = ['sk-ann-000001', 'sk-bob-000001']
const MARK = 28

type Json = Readonly<Record<string, unknown>>

interface Kind {
  readonly title: string
  /** Where they are listed, and where they are made. */
  readonly list: string
  readonly make: string
  readonly body: string
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  /** As the provider shows the nth. */
  readonly shown: (n: number) => Json
  readonly id: (n: number) => string
  readonly items: string
  readonly size: string
  /** Parameters that go on, and where an answer says with what; by ids, that is the last of a page. */
  readonly after: string
  readonly next: string
}

const FORM = 'multipart/form-data; boundary=b'
const FILE = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n'
const ANTHROPIC = { headers: { 'anthropic-version': '2023-06-01' }, items: 'data', size: 'limit' }
const ID = { after: 'after_id', next: 'last_id' }
const GOOGLE = {
  headers: {},
  contentType: 'application/json',
  size: 'pageSize',
  after: 'pageToken',
  next: 'nextPageToken'
}
const REQUESTS = JSON.stringify({
  requests: [{ custom_id: 'a', params: { model: 'claude', max_tokens: 1, messages: [] } }]
})

const KINDS: readonly Kind[] = [
  {
    ...{ title: "Anthropic's batches", list: '/v1/messages/batches', make: '/v1/messages/batches', body: REQUESTS },
    ...{ ...ANTHROPIC, ...ID, contentType: 'application/json', id: (n) => `msgbatch_${n}` },
    shown: (n) => ({ id: `msgbatch_${n}`, type: 'message_batch', processing_status: 'ended' })
  },
  {
    ...{ title: "Anthropic's files", list: '/v1/files', make: '/v1/files', body: FILE, contentType: FORM },
    ...{ ...ANTHROPIC, ...ID, id: (n) => `file_${n}` },
    shown: (n) => ({ id: `file_${n}`, type: 'file', filename: 'a' })
  },
  {
    ...{ title: "Anthropic's skills", list: '/v1/skills', make: '/v1/skills', body: FILE, contentType: FORM },
    ...{ ...ANTHROPIC, after: 'page', next: 'next_page', id: (n) => `skill_${n}` },
    shown: (n) => ({ id: `skill_${n}`, type: 'skill' })
  },
  {
    ...{ title: "Google's caches", list: '/v1beta/cachedContents', make: '/v1beta/cachedContents', ...GOOGLE },
    ...{ body: JSON.stringify({ model: 'models/gem' }), items: 'cachedContents', id: (n) => `cachedContents/c${n}` },
    shown: (n) => ({ name: `cachedContents/c${n}`, model: 'models/gemini-x' })
  },
  {
    ...{
      title: "Google's batches",
      list: '/v1beta/batches',
      make: '/v1beta/models/gem:batchGenerateContent',
      ...GOOGLE
    },
    ...{ body: JSON.stringify({ batch: { displayName: 'a' } }), items: 'operations', id: (n) => `batches/b${n}` },
    shown: (n) => ({ name: `batches/b${n}`, metadata: { state: 'BATCH_STATE_PENDING' } })
  }
]

/** Newest first, three on a page, whatever is asked for. */
async function startProvider(t: TestContext, kind: Kind) {
  const made: number[] = []
  const queries: URLSearchParams[] = []
  const page = (query: URLSearchParams): Json => {
    queries.push(query)
    const place = query.get(kind.after)
    const from =
      place === null ? 0 : kind.next === 'last_id' ? made.findIndex((n) => kind.id(n) === place) + 1 : Number(place)
    const here = made.slice(from, from + PAGE)
    const hasMore = from + PAGE < made.length
    const list = here.map(kind.shown)
    if (kind.items !== 'data') return { [kind.items]: list, ...(hasMore ? { nextPageToken: String(from + PAGE) } : {}) }
    if (kind.next === 'next_page')
      return { data: list, has_more: hasMore, next_page: hasMore ? String(from + PAGE) : null }
    return { data: list, has_more: hasMore, first_id: kind.id(here[0]!), last_id: kind.id(here.at(-1)!) }
  }
  let count = 0
  const answer = ({ method, url = '' }: IncomingMessage): Json => {
    const { pathname, searchParams } = new URL(url, 'http://x')
    if (method === 'GET') return page(searchParams)
    if (method === 'DELETE') {
      made.splice(
        made.findIndex((n) => pathname.endsWith(`/${kind.id(n)}`)),
        1
      )
      return kind.items === 'data' ? { id: pathname.split('/').at(-1), type: `${kind.shown(0).type}_deleted` } : {}
    }
    made.unshift(count)
    return kind.shown(count++)
  }
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(request)))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { made, queries, port: (server.address() as AddressInfo).port, others: () => made.unshift(900 + count++) }
}

async function startProgram(t: TestContext, provider: number) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-kinds-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const port = await freePort()
  const base = `http://127.0.0.1:${provider}`
  const claude = { model: 'claude-x', baseUrl: `${base}/v1`, apiKey: 'sk-ant-of-the-account' }
  const gem = { model: 'gemini-x', baseUrl: `${base}/v1beta`, apiKey: 'AIza-of-the-account' }
  const file = JSON.stringify({
    config: { statsAddr: 'off', readinessAddr: 'off', adminAddr: 'off', workerThreads: 1, state: { path: folder } },
    llm: {
      port,
      models: [
        { name: 'claude', provider: 'anthropic', params: claude },
        { name: 'gem', provider: 'gemini', params: gem }
      ]
    },
    keys: [
      { name: 'ann', key: ANN },
      { name: 'bob', key: BOB }
    ]
  })
  const program = runProgram(['-c', file])
  t.after(() => program.stop())
  await program.logged('target=start')
  return `http://127.0.0.1:${port}`
}

for (const kind of KINDS) {
  test(`${kind.title}: a tenant's own, in pages, and its places are nobody else's`, async (t) => {
    const provider = await startProvider(t, kind)
    const url = await startProgram(t, provider.port)
    const ask = async (key: string, path: string, init: RequestInit = {}) => {
      const response = await fetch(url + path, {
        ...init,
        headers: { authorization: `Bearer ${key}`, ...kind.headers, ...init.headers }
      })
      return { status: response.status, body: (await response.json()) as Json }
    }
    const make = async (key: string) => {
      const made = await ask(key, kind.make, {
        method: 'POST',
        body: kind.body,
        headers: { 'content-type': kind.contentType }
      })
      equal(made.status, 200, JSON.stringify(made.body))
      return String(made.body.id ?? made.body.name)
    }
    const idsOf = (body: Json) => (body[kind.items] as Json[]).map(({ id, name }) => String(id ?? name))
    const list = async (key: string) => {
      const ids: string[] = []
      let place = ''
      do {
        const query = `?${kind.size}=1${place === '' ? '' : `&${kind.after}=${place}`}`
        const { status, body } = await ask(key, kind.list + query)
        equal(status, 200, JSON.stringify(body))
        ok(idsOf(body).length <= 1)
        ids.push(...idsOf(body))
        const hasMore = body.has_more ?? body.nextPageToken !== undefined
        place = hasMore === true ? String(body[kind.next]) : ''
        if (place !== '') equal((await ask(BOB, `${kind.list}?${kind.after}=${place}`)).status, key === BOB ? 200 : 400)
      } while (place !== '')
      return ids
    }
    for (let i = 0; i < 6; i++) provider.others()
    const first = [await make(ANN), await make(ANN)]
    const ofBob = [await make(BOB)]
    for (let i = 0; i < 4; i++) provider.others()
    const second = [await make(ANN), await make(ANN)]
    const ann = [...first, ...second].reverse()
    ok(ann.every((id) => id.length > MARK))
    deepEqual(await list(ANN), ann)
    deepEqual(await list(BOB), ofBob)
    ok(provider.queries.every((query) => query.get(kind.size) !== '1'))
    // A place of the provider's own opens nothing.
    equal((await ask(ANN, `${kind.list}?${kind.after}=${kind.next === 'last_id' ? kind.id(0) : '3'}`)).status, 400)

    const path = kind.items === 'data' ? `${kind.list}/${ann[1]}` : `/v1beta/${ann[1]}`
    equal((await ask(ANN, path, { method: 'DELETE' })).status, 200)
    const before = provider.queries.length
    const left = await ask(ANN, kind.list)
    deepEqual(idsOf(left.body), [ann[0], ann[2], ann[3]])
    // All that is left has been found: the provider is not asked whether it has more of others.
    equal(provider.queries.length - before, 3)
    deepEqual(left.body.has_more ?? false, false)
    deepEqual([left.body.next_page ?? null, left.body.nextPageToken ?? null], [null, null])
  })
}
