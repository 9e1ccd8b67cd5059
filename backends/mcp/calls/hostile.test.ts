/** Clients and servers that mean harm: what they write must become nobody else's message. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { isPlainAnswer } from '#backends/mcp/protocol/parse-message.ts'
import { type Answers, hostile } from '#backends/mcp/targets/http/hostile.fixture.ts'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { SharedRevocations } from '#engine/workers/shared.ts'

const OLDER = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: '2025-06-18' } }

/** A session with two targets that answer alike. */
async function begun(t: TestContext, answers: Answers, initialize: object = INITIALIZE) {
  const server = await hostile(t, answers)
  const targets = ['a', 'b'].map((name) => httpTarget(name, server.port))
  const { url } = await gatewayOf(t, mcpOf(targets))
  const first = await post(url, initialize)
  await first.text()
  const session = { 'mcp-session-id': first.headers.get('mcp-session-id')! }
  return { url, session, server }
}

describe('a hostile client', () => {
  it('writes no lines into requests to targets with a Last-Event-ID of several', async (t) => {
    const { url, session, server } = await begun(t, (_body, response) => response.writeHead(405).end())
    for (const id of [
      '1\r\nx-evil: yes',
      '1\r\n\r\nPOST /evil HTTP/1.1\r\nHost: x\r\n\r\n',
      '\u010d\u010aX: y',
      '\0',
      7
    ]) {
      const headers = { ...session, accept: 'text/event-stream' }
      const lastId = Buffer.from(JSON.stringify({ a: id })).toString('base64url')
      const refused = await fetch(url, { headers: { ...headers, 'last-event-id': lastId } })
      equal(refused.status, 400)
      match(await refused.text(), /Last-Event-ID is not of this server/)
    }
    deepEqual(
      server.seen.map(({ method }) => method),
      ['POST', 'POST']
    )
  })
})

describe('a session that is over', () => {
  it('is not begun again by a stream that another worker holds', async (t) => {
    const held = Promise.withResolvers<() => void>()
    const server = await hostile(t, (_body, response, { method }) => {
      if (method === 'GET') held.resolve(() => response.writeHead(404).end())
      else response.writeHead(200).end()
    })
    const shared = { secret: randomBytes(32), revocations: new SharedRevocations() }
    const mcp = mcpOf([httpTarget('a', server.port)])
    const [here, there] = [await gatewayOf(t, mcp, shared), await gatewayOf(t, mcp, shared)]
    const first = await post(here.url, INITIALIZE)
    await first.text()
    const session = { 'mcp-session-id': first.headers.get('mcp-session-id')! }
    const stream = fetch(here.url, { headers: { ...session, accept: 'text/event-stream' } })
    const lose = await held.promise
    await fetch(there.url, { method: 'DELETE', headers: session })
    lose()
    equal((await stream).status, 404)
    equal(server.seen.filter(({ body }) => body.includes('"initialize"')).length, 1)
  })
})

describe('a hostile server', () => {
  const BODIES = {
    'another id': '{"jsonrpc":"2.0","id":77,"result":{}}',
    'another id besides': '{"jsonrpc":"2.0","id":5,"result":{},"id":77}',
    'another id, disguised': '{"jsonrpc":"2.0","id":5,"result":{},"\\u0069d":77}',
    'a request': '{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}}',
    'an id within': '{"jsonrpc":"2.0","result":{"id":5}}',
    'no JSON': '{garbage'
  }
  for (const [name, body] of Object.entries(BODIES)) {
    it(`answers no other request than its own: ${name}`, async (t) => {
      const { url, session } = await begun(t, (_body, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(body)
      })
      const call = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'a_x' } }
      const answered = (await (await post(url, call, session)).json()) as { id: number; error: { message: string } }
      equal(answered.id, 5)
      equal(answered.error.message, 'target a: answered with what is no response to the request')
    })
  }

  it('ends no session with others by refusing its own for ever', async (t) => {
    const { url, session } = await begun(t, (body, response) => {
      if (body.includes('"bad"')) response.writeHead(404).end()
      else if (!body.includes('tools/call')) response.writeHead(202).end()
      else {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end('{"jsonrpc":"2.0","id":5,"result":{"content":[]}}')
      }
    })
    const call = (name: string) => post(url, { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name } }, session)
    const refused = await call('a_bad')
    equal(refused.status, 200)
    match(await refused.text(), /-32603.*target a: the session is not known any more/)
    equal((await call('b_good')).status, 200)
  })

  it('that wants its stream taken up at once is asked again in its own time', async (t) => {
    let requests = 0
    const answers: Answers = (_body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const answer = requests < 3 ? '' : '{"jsonrpc":"2.0","id":5,"result":{}}'
      response.end(`retry: 0\nid: ${++requests}\ndata: ${answer}\n\n`)
    }
    // Older clients are not told to come back: the gateway does it for them.
    const { url, session } = await begun(t, answers, OLDER)
    const before = performance.now()
    const call = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'a_x' } }
    match(await (await post(url, call, session)).text(), /"result":\{\}/)
    equal(performance.now() - before >= 290, true)
    equal(requests, 4)
  })

  it('fills no memory with pages without end', async (t) => {
    let pages = 0
    const { url, session } = await begun(t, (body, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const { id } = JSON.parse(body)
      const tools = [{ name: 'x', description: 'y'.repeat(3_500_000) }]
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools, nextCursor: String(++pages) } }))
    })
    const listed = await post(url, { jsonrpc: '2.0', id: 5, method: 'tools/list' }, session)
    match(await listed.text(), /the list is longer than the limit/)
    equal(pages < 60, true, `${pages} pages`)
  })

  it('and a good answer needs no reading', () => {
    const good = ['{"jsonrpc":"2.0","id":5,"result":{"id":7,"method":""}}', ' {"result" : [1,"}"], "id" :5 }\n']
    for (const text of good) equal(isPlainAnswer(Buffer.from(text), 5), true)
    equal(isPlainAnswer(Buffer.from('{"id":"5","error":{}}'), '5'), true)
    const ill = ['{"id":55,"result":{}}', '{"id":5,"result":{}} x', '{"id":5}', '{"id":5,"result":{}', '[]', '']
    const cut = [
      '{"id":5,"result":"',
      '{"id":5,"result":["}',
      '{"id":5,"result":{}',
      '{"id":5,"result',
      '{"id":5,',
      '{'
    ]
    const twice = ['{"id":5,"result":{},"id":5}', '{"id":5,"result":{},"error":{}}', '{"id":5,"result":{},"method":""}']
    const odd = [
      '{"\\u0069d":5,"id":5,"result":{}}',
      '{"id":5,"result":{},}',
      '{"id":5 "result":{}}',
      '{"id":05,"result":1}'
    ]
    for (const text of [...ill, ...cut, ...twice, ...odd]) equal(isPlainAnswer(Buffer.from(text), 5), false, text)
  })
})
