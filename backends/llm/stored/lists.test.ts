/** Lists of what providers keep, told apart by tenant: the program, before a provider with pages of three objects. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { freePort, runProgram } from '#engine/testing/program.ts'

const PAGE = 3
const ANN = 'sk-ann-000001'
const BOB = 'sk-bob-000001'

interface Page {
  readonly data: readonly { readonly name: string }[]
  readonly files: readonly { readonly name: string }[]
  readonly has_more: boolean
  readonly last_id: string
  readonly nextPageToken?: string
}

interface Made {
  readonly id: string
  readonly name: string
}

/** Newest first, as OpenAI lists; Google's lists go on behind a number. */
async function startProvider(t: TestContext) {
  const made: Made[] = []
  const requests: string[] = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    const answer = (body: object, status = 200) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'x-total-count': '99' })
        .end(JSON.stringify(body))
    const isGoogle = pathname.includes('/v1beta/')
    const shown = ({ id, name }: Made) => (isGoogle ? { name: `files/${id}` } : { id, object: 'vector_store', name })
    const id = /vector_stores\/(.+)$/.exec(pathname)?.[1]
    let text = ''
    request.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
    request.on('end', () => {
      if (request.method === 'POST') {
        const { name } = (isGoogle ? { name: 'g' } : JSON.parse(text)) as { name: string }
        const one = { id: isGoogle ? `g${made.length}` : `vs_${made.length}`, name }
        made.unshift(one)
        return answer(isGoogle ? { file: shown(one) } : shown(one))
      }
      if (request.method === 'DELETE') {
        made.splice(
          made.findIndex((one) => one.id === id),
          1
        )
        return answer({ id, object: 'vector_store.deleted', deleted: true })
      }
      requests.push(request.url!)
      const [after, before, token] = ['after', 'before', 'pageToken'].map((name) => searchParams.get(name))
      const places = made.map((one) => one.id)
      const end = before == null ? made.length : places.indexOf(before)
      const from =
        before != null ? Math.max(0, end - PAGE) : after == null ? Number(token ?? 0) : places.indexOf(after) + 1
      const data = made.slice(from, Math.min(end, from + PAGE)).map(shown)
      const hasMore = before != null ? from > 0 : from + PAGE < made.length
      if (isGoogle) return answer({ files: data, ...(hasMore ? { nextPageToken: String(from + PAGE) } : {}) })
      return answer({ object: 'list', data, first_id: 'x', last_id: 'y', has_more: hasMore, total: made.length })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { made, requests, port: (server.address() as AddressInfo).port }
}

async function startProgram(t: TestContext, provider: { readonly port: number }, state: object | null) {
  const port = await freePort()
  const base = `http://127.0.0.1:${provider.port}`
  const quiet = { statsAddr: 'off', readinessAddr: 'off', adminAddr: 'off', workerThreads: 2 }
  const file = JSON.stringify({
    config: { ...quiet, ...(state === null ? {} : { state }) },
    llm: {
      port,
      models: [
        { name: 'm', provider: 'openai', params: { baseUrl: `${base}/v1`, apiKey: 'sk-of-the-account-0' } },
        { name: 'g', provider: 'gemini', params: { baseUrl: `${base}/v1beta`, apiKey: 'AIza-of-the-account' } }
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
  const as = (apiKey: string) => new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey, maxRetries: 0 })
  return { program, url: `http://127.0.0.1:${port}`, ann: as(ANN), bob: as(BOB) }
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-lists-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

async function namesOf(list: AsyncIterable<{ readonly name: string }>): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of list) names.push(name)
  return names
}

test('two tenants get their own of three pages, page by page, also after kill -9; others are not told of', async (t) => {
  const provider = await startProvider(t)
  const state = { path: folderOf(t) }
  const before = await startProgram(t, provider, state)
  provider.made.push({ id: 'vs_elsewhere', name: 'elsewhere' })
  for (let i = 0; i < 4; i++) {
    await before.ann.vectorStores.create({ name: `ann ${i}` })
    await before.bob.vectorStores.create({ name: `bob ${i}` })
  }
  before.program.signal('SIGKILL')
  await before.program.exited()
  const { ann, bob, url } = await startProgram(t, provider, state)
  deepEqual(await namesOf(ann.vectorStores.list({ limit: 3 })), ['ann 3', 'ann 2', 'ann 1', 'ann 0'])
  deepEqual(await namesOf(bob.vectorStores.list()), ['bob 3', 'bob 2', 'bob 1', 'bob 0'])
  ok(provider.requests.length > 3)

  const page = await ann.vectorStores.list({ limit: 2 })
  deepEqual([page.data.map(({ name }) => name), page.has_more], [['ann 3', 'ann 2'], true])
  const { id } = page.data[1]!
  equal((await ann.vectorStores.list({ limit: 2, after: id })).has_more, false)
  deepEqual(await ann.vectorStores.list({ limit: 2, before: id }).then(({ data }) => data.map(({ name }) => name)), [
    'ann 3'
  ])

  const raw = await fetch(`${url}/v1/vector_stores?limit=2`, { headers: { authorization: `Bearer ${ANN}` } })
  const text = await raw.text()
  equal(raw.headers.get('x-total-count'), null)
  ok(!/bob|elsewhere|total/.test(text), text)
  deepEqual(Object.keys(JSON.parse(text)), ['object', 'data', 'first_id', 'last_id', 'has_more'])
  const stolen = await fetch(`${url}/v1/vector_stores?after=${id}`, { headers: { authorization: `Bearer ${BOB}` } })
  equal(stolen.status, 400)

  await ann.vectorStores.delete(id)
  deepEqual(await namesOf(ann.vectorStores.list()), ['ann 3', 'ann 1', 'ann 0'])
})

test("Google's tokens say nothing, and go on in the middle of a page of the provider's", async (t) => {
  const provider = await startProvider(t)
  const { url } = await startProgram(t, provider, { path: folderOf(t) })
  const ask = async (key: string, path: string, init: RequestInit = {}) => {
    const headers = { 'x-goog-api-key': key, 'x-goog-upload-command': 'upload, finalize', 'content-type': 'text/plain' }
    const response = await fetch(`${url}${path}`, { ...init, headers })
    return { status: response.status, body: (await response.json()) as Page }
  }
  for (const key of [ANN, ANN, BOB, ANN, ANN]) {
    equal((await ask(key, '/upload/v1beta/files', { method: 'POST', body: 'x' })).status, 200)
  }
  const names: string[] = []
  let token = ''
  do {
    const { body } = await ask(ANN, `/v1beta/files?pageSize=1&pageToken=${token}`)
    ok(body.files.length <= 1)
    for (const { name } of body.files) names.push(name.slice(0, 'files/g0'.length))
    token = body.nextPageToken ?? ''
    if (token !== '') equal((await ask(BOB, `/v1beta/files?pageToken=${token}`)).status, 400)
  } while (token !== '')
  deepEqual(names, ['files/g4', 'files/g3', 'files/g1', 'files/g0'])
  equal((await ask(ANN, '/v1beta/files?pageToken=3')).status, 400)
})

test('a list that has been read to the bound says so, and goes on there without a name of others', async (t) => {
  const provider = await startProvider(t)
  const { url, ann } = await startProgram(t, provider, { path: folderOf(t) })
  await ann.vectorStores.create({ name: 'first' })
  for (let i = 0; i < 70; i++) provider.made.unshift({ id: `vs_other${i}`, name: 'other' })
  const list = async (query: string) => {
    const response = await fetch(`${url}/v1/vector_stores${query}`, { headers: { authorization: `Bearer ${ANN}` } })
    return (await response.json()) as Page
  }
  const page = await list('')
  deepEqual([page.data, page.has_more], [[], true])
  equal(provider.requests.length, 20)
  ok(!Buffer.from(page.last_id.slice(5), 'base64url').includes('vs_other'))
  const next = await list(`?after=${page.last_id}`)
  deepEqual([next.data.map(({ name }) => name), next.has_more], [['first'], false])
})

test('without a place for it lists stay closed, and say what opens them', async (t) => {
  const provider = await startProvider(t)
  const { ann } = await startProgram(t, provider, null)
  await ann.vectorStores.create({ name: 'one' })
  const refused = await ann.vectorStores.list().then(
    () => null,
    (error: { status: number; message: string }) => error
  )
  equal(refused?.status, 403)
  ok(refused.message.includes('config.state (path or url)'), refused.message)
  equal(provider.requests.length, 0)
})
