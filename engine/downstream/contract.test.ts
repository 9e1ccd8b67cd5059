/**
 * What every downstream transport must do, run over each of them. Where uws cannot, UWS_DIFFERS says why
 * and tests what it does instead (docs/design/005-uws-transport.md).
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { FIELD_CASES } from '#engine/testing/downstream-fields.ts'
import { FLOW_CASES } from '#engine/testing/downstream-flow.ts'
import { MESSAGE_CASES } from '#engine/testing/downstream-messages.ts'
import {
  answering,
  type Case,
  GET,
  manyTurns,
  OK,
  type Open,
  passOne,
  upstream
} from '#engine/testing/downstream-support.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'
import { UWS_HTTP, UWS_STACK } from '#engine/testing/transports.ts'

const CASES = { ...MESSAGE_CASES, ...FIELD_CASES, ...FLOW_CASES }

const TRANSPORTS: Record<string, Partial<StackOptions>> = {
  'node over handles': { transport: 'node', sockets: 'handles' },
  'node over net': { transport: 'node', sockets: 'net' },
  uws: UWS_STACK
}

/** Cases in which uws differs: why, and what is true of it instead. */
const UWS_DIFFERS: Record<string, { because: string; instead: Case }> = {
  'requests sent ahead are answered in order': {
    because: 'it closes a connection on which a request comes while another waits for its answer',
    async instead(open) {
      const server = await answering(OK)
      const stack = await open({ upstream: server.port })
      assert.equal(await exchangeRaw(stack.port, GET + GET), '')
      const [record] = await stack.recorded(1)
      assert.equal(record!.error, 'CLIENT_GONE')
    }
  },
  'request fields arrive as they were sent': {
    because: 'it lower-cases names',
    async instead(open) {
      const text =
        'GET /p?q=%20 HTTP/1.1\r\nHost: Example.com\r\nX-One: a\r\nx-two: b\tc\r\nX-ONE: D\r\nX-Empty:\r\n\r\n'
      const { seen } = await passOne(open, OK, text, 'ok')
      const lines = 'x-one: a\r\nx-two: b\tc\r\nx-one: D\r\nx-empty: \r\n'
      assert.equal(seen, `GET /p?q=%20 HTTP/1.1\r\nHost: example.com\r\n${lines}\r\n`)
    }
  },
  'values of request fields may hold any byte': {
    because: 'it decodes values as UTF-8, and takes bytes above 127 at their ends for blanks',
    async instead(open) {
      const { seen } = await passOne(open, OK, 'GET / HTTP/1.1\r\nHost: a\r\nX-N: a\xc3\xa9b\r\n\r\n', 'ok')
      assert.match(seen, /x-n: a\xc3\xa9b\r\n/)
      const other = await passOne(open, OK, 'GET / HTTP/1.1\r\nHost: a\r\nX-N: a\xe9b\r\n\r\n', '\r\n\r\n')
      assert.match(other.client, /^HTTP\/1.1 400 /)
    }
  },
  'the Date of the upstream passes': {
    because: 'it writes its own, always',
    async instead(open) {
      const answer = 'HTTP/1.1 200 OK\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT\r\nContent-Length: 2\r\n\r\nok'
      const { client } = await passOne(open, answer, GET, 'ok')
      assert.equal(client.match(/^date:/gim)?.length, 1)
    }
  },
  'the absolute form and OPTIONS * are understood': {
    because: 'it parses the origin form alone, and calls anything else a wrong version',
    instead: (open) => answersItself(open, ['GET http://a/ HTTP/1.1', 'OPTIONS * HTTP/1.1'], 505)
  },
  'HTTP/1.0 is served': {
    because: 'it speaks HTTP/1.1 alone',
    instead: (open) => answersItself(open, ['GET / HTTP/1.0'], 505)
  },
  'interim responses pass': {
    because: 'it can write none but 100, which it sends by itself',
    async instead(open) {
      const { client } = await passOne(open, `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`, GET, 'ok')
      assert.match(client, /^HTTP\/1.1 200 OK\r\n/)
    }
  },
  'trailers of responses pass': {
    because: 'it can write none',
    async instead(open) {
      const answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n'
      const { client } = await passOne(open, answer, GET, '\r\n0\r\n\r\n')
      assert.doesNotMatch(client, /X-Sum/i)
    }
  },
  'trailers of requests pass': {
    because: 'it takes them for the next request, and closes',
    async instead(open) {
      const server = await upstream(() => {})
      const stack = await open({ upstream: server.port })
      const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
      assert.match(await exchangeRaw(stack.port, `${head}2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n`), /^HTTP\/1.1 505 /)
      const [record] = await stack.recorded(1)
      assert.equal(record!.error, 'CLIENT_GONE')
    }
  },
  'the head of a stream leaves before its first byte': {
    because: 'it ends the head of a chunked response only with the first chunk',
    async instead(open) {
      const first = Promise.withResolvers<void>()
      const server = await upstream(async (peer) => {
        await peer.until('\r\n\r\n')
        peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        await first.promise
        peer.send('2\r\nok\r\n')
      })
      const stack = await open({ upstream: server.port })
      const client = await rawClient(stack.port)
      client.send(GET)
      await manyTurns()
      assert.equal(client.received, '')
      first.resolve()
      assert.match(await client.until('ok'), /^HTTP\/1.1 200 OK\r\n/)
      client.close()
    }
  },
  'chunks that are framed badly are refused': {
    because: 'it ignores what follows the size of a chunk; the body is framed anew, so nothing of it passes',
    async instead(open) {
      const server = await upstream(async (peer) => {
        await peer.until('0\r\n\r\n')
        peer.send(OK)
      })
      const stack = await open({ upstream: server.port })
      const client = await rawClient(stack.port)
      client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 x\r\na\r\n0\r\n\r\n')
      await client.until('ok')
      client.close()
    }
  },
  'drain answers what is on the way, telling of the end, and ends idle connections soon': {
    because: 'an idle connection cannot be reached: it ends by itself after 12 s, or with closeAll',
    async instead(open) {
      const server = await answering(OK)
      const stack = await open({ upstream: server.port })
      const client = await rawClient(stack.port)
      client.send(GET)
      await client.until('ok')
      stack.bind.drain()
      client.send(GET)
      assert.match(await client.until(/ok[\s\S]*ok/), /\r\nConnection: close\r\n/)
      await client.untilEnd()
    }
  }
}

async function answersItself(open: Open, lines: readonly string[], status: number): Promise<void> {
  const stack = await open({ upstream: 1 })
  for (const line of lines) {
    const answer = await exchangeRaw(stack.port, `${line}\r\nHost: a\r\n\r\n`)
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
  }
}

test('every difference names a case', () => {
  for (const title of Object.keys(UWS_DIFFERS)) assert.ok(title in CASES, title)
})

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  describe(name, () => {
    const stacks: Stack[] = []
    after(() => {
      for (const stack of stacks) stack.close()
    })
    const open: Open = async (options) => {
      const http = name === 'uws' ? { ...UWS_HTTP, ...options.http } : (options.http ?? {})
      const stack = await startStack({ ...options, ...transport, http })
      stacks.push(stack)
      return stack
    }
    for (const [title, run] of Object.entries(CASES)) {
      const differs = name === 'uws' ? UWS_DIFFERS[title] : undefined
      if (differs === undefined) test(title, () => run(open))
      else test(`${title}: not uws, because ${differs.because}`, () => differs.instead(open))
    }
  })
}
