/** Texts at URLs: what is fetched when, what is refused, and what stays while a server is down. */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { RemoteTexts } from './remote.ts'
import { fetchRemote, type RemoteAnswer } from './remote-fetch.ts'

async function server(t: TestContext, listener: RequestListener): Promise<string> {
  const made = createServer(listener)
  await once(made.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    made.closeAllConnections()
    made.close()
  })
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}/api.json`
}

const NOTHING = { etag: null, modified: null }

describe('one request', () => {
  const reasonOf = async (answer: Promise<RemoteAnswer>): Promise<string> => {
    const got = await answer
    return got.kind === 'failed' ? got.reason : got.kind
  }

  it('brings a text, plain or compressed, with what tells whether it is still the same', async (t) => {
    const seen: IncomingMessage['headers'][] = []
    const url = await server(t, (request, response) => {
      seen.push(request.headers)
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end()
      else response.writeHead(200, { etag: '"1"', 'content-encoding': 'gzip' }).end(gzipSync('ünï'))
    })
    const first = await fetchRemote(url, NOTHING)
    deepEqual(first, { kind: 'text', text: 'ünï', state: { etag: '"1"', modified: null } })
    deepEqual(await fetchRemote(url, { etag: '"1"', modified: null }), { kind: 'same' })
    equal(seen[0]!.authorization, undefined)
  })

  it('is refused where it leads elsewhere, ends badly, or never ends', async (t) => {
    let answer: RequestListener = (_request, response) => response.end()
    const url = await server(t, (request, response) => answer(request, response))
    const reason = (listener: RequestListener, bounds = { bytesMax: 1000, timeoutMs: 60_000 }): Promise<string> => {
      answer = listener
      return reasonOf(fetchRemote(url, NOTHING, bounds))
    }
    match(
      await reason((_, r) => r.writeHead(302, { location: 'http://169.254.169.254/' }).end()),
      /is a redirect \(302\)/
    )
    equal(await reason((_, r) => r.writeHead(404).end('x')), 'the answer has status 404')
    equal(await reason((_, r) => r.end('x'.repeat(1001))), 'the answer is longer than 1000 bytes')
    const bomb = gzipSync('x'.repeat(1_000_000))
    const coded = { 'content-encoding': 'gzip' }
    equal(await reason((_, r) => r.writeHead(200, coded).end(bomb)), 'the answer is longer than 1000 bytes')
    match(await reason((_, r) => r.writeHead(200, coded).end('no gzip')), /Z_DATA_ERROR/)
    equal(await reason((_, r) => r.end(Buffer.from([0xff]))), 'the answer is not UTF-8 text')
    equal(
      await reason((_, r) => r.writeHead(200, { 'content-encoding': 'zstd' }).end()),
      'the answer has the coding zstd'
    )
    match(await reason((_, r) => r.writeHead(200).write('x', () => r.destroy())), /ECONNRESET|aborted/)
    const never: RequestListener = (_, r) => r.write('x')
    equal(await reason(never, { bytesMax: 1000, timeoutMs: 50 }), 'no complete answer within 50 ms')
  })

  it('is not sent to link-local addresses, in any spelling', async () => {
    const CLOUDS = ['[fd00:ec2::254]', '[fd00:0ec2:0:0::0254]', '100.100.100.200', '168.63.129.16']
    for (const host of [
      '169.254.169.254',
      '[fe80::1]',
      '[::ffff:169.254.169.254]',
      '0xa9fea9fe',
      '0.0.0.0',
      ...CLOUDS
    ]) {
      match(await reasonOf(fetchRemote(`http://${host}:1/`, NOTHING)), /link-local, or reserved/, host)
    }
    equal(await reasonOf(fetchRemote('http://127.0.0.1:1/', NOTHING)), 'ECONNREFUSED')
  })
})

describe('texts of a configuration', () => {
  /** Answers by URL, which a test changes. */
  function stand(): { texts: RemoteTexts; answers: Map<string, RemoteAnswer>; urls: string[]; logged: string[] } {
    const answers = new Map<string, RemoteAnswer>()
    const urls: string[] = []
    const logged: string[] = []
    const texts = new RemoteTexts({
      fetch: async (url, { etag }) => {
        urls.push(`${url} ${etag}`)
        return answers.get(url) ?? { kind: 'failed', reason: 'the answer has status 404' }
      }
    })
    texts.log = (level, message) => logged.push(`${level}: ${message}`)
    return { texts, answers, urls, logged }
  }
  const text = (value: string, etag: string | null = null): RemoteAnswer => ({
    kind: 'text',
    text: value,
    state: { etag, modified: null }
  })

  it('are fetched before a loading ends, each once, however many are found on the way', async () => {
    const { texts, answers, urls } = stand()
    answers.set('http://a/', text('http://b/'))
    answers.set('http://b/', text('B'))
    const load = (): string => {
      try {
        return texts.read(texts.read('http://a/'))
      } catch (error) {
        return (error as Error).message
      }
    }
    equal(await texts.loaded(load), 'B')
    deepEqual(urls, ['http://a/ null', 'http://b/ null'])
    equal(await texts.loaded(load), 'B')
    equal(urls.length, 2)
  })

  it('that cannot be had say why, without what may be secret, and are asked for by the next loading', async () => {
    const { texts, answers, urls } = stand()
    const load = (): string => texts.read('http://a/x?token=secret')
    const problem = (): string => {
      try {
        return load()
      } catch (error) {
        return (error as Error).message
      }
    }
    equal(await texts.loaded(problem), 'cannot fetch http://a/x: the answer has status 404')
    throws(load, /404/)
    answers.set('http://a/x?token=secret', text('now'))
    equal(await texts.loaded(problem), 'now')
    equal(urls.length, 2)
  })

  it('are fetched again: changes are reported, failures once, and known texts stay', async () => {
    const { texts, answers, urls, logged } = stand()
    answers.set('http://a/', text('1', '"1"'))
    await texts.loaded(() => {
      try {
        return texts.read('http://a/')
      } catch {
        // Asked for by having been read.
        return ''
      }
    })
    let changes = 0
    texts.onChange = () => changes++
    texts.follow(['http://a/'], true)
    answers.set('http://a/', { kind: 'same' })
    await texts.refresh()
    equal(urls.at(-1), 'http://a/ "1"')
    answers.set('http://a/', text('1', '"2"'))
    await texts.refresh()
    equal(changes, 0)
    answers.delete('http://a/')
    await texts.refresh()
    await texts.refresh()
    deepEqual(logged, ['warn: cannot fetch http://a/ again: the answer has status 404; what is known stays in force'])
    equal(texts.read('http://a/'), '1')
    answers.set('http://a/', text('2'))
    await texts.refresh()
    deepEqual([changes, texts.read('http://a/')], [1, '2'])
    texts.follow([], true)
    throws(() => texts.read('http://a/'))
    texts.close()
  })

  it('are asked for again in time, however often a configuration is loaded', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const { texts, answers, urls } = stand()
    answers.set('http://a/', text('1', '"1"'))
    await texts.loaded(() => {
      try {
        return texts.read('http://a/')
      } catch {
        // Asked for by having been read.
        return ''
      }
    })
    for (let minute = 0; minute < 11; minute++) {
      texts.follow(['http://a/'], true)
      t.mock.timers.tick(60_000)
    }
    equal(urls.length, 3)
    texts.follow([], true)
    t.mock.timers.tick(600_000)
    equal(urls.length, 3)
    texts.close()
  })
})
