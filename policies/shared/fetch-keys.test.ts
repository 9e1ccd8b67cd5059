import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KeyServer, keySet, signingKey } from '#engine/testing/tokens.ts'
import { fetchKeys } from './fetch-keys.ts'

const { signal: SIGNAL } = new AbortController()
const SET = keySet([signingKey('ES256'), { kid: 'a' }])

async function server(t: TestContext, body: KeyServer['body'] = SET): Promise<KeyServer> {
  const started = await new KeyServer('').start()
  started.body = body
  t.after(() => started.stop())
  return started
}

test('a key set is fetched', async (t) => {
  const { url } = await server(t)
  assert.equal((await fetchKeys(url, SIGNAL)).keys[0]!.kid, 'a')
})

test('redirects are not followed', async (t) => {
  const target = await server(t)
  const { url } = await server(t, (response) => response.writeHead(302, { location: target.url }).end())
  await assert.rejects(fetchKeys(url, SIGNAL), /^Error: the answer has status 302: redirects are not followed/)
  assert.equal(target.requests, 0)
})

test('other answers are refused, and nothing of them is quoted', async (t) => {
  const answers: [KeyServer['body'], RegExp][] = [
    [(response) => response.writeHead(500).end('canary'), /^Error: the answer has status 500$/],
    ['<html>canary', /^Error: the key set is not JSON$/],
    ['{"keys":[{"kty":"oct","k":"canary"}]}', /^Error: the key set has no key that can verify a signature: keys\[0\]/]
  ]
  for (const [body, expected] of answers) {
    const { url } = await server(t, body)
    await assert.rejects(fetchKeys(url, SIGNAL), expected)
  }
})

test('size and time are bounded', async (t) => {
  const endless = await server(t, (response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    }
    response.on('drain', more)
    more()
  })
  await assert.rejects(fetchKeys(endless.url, SIGNAL), /^Error: the answer is longer than 196608 bytes$/)
  const large = await server(t, 'x'.repeat(196_609))
  await assert.rejects(fetchKeys(large.url, SIGNAL), /^Error: the answer is longer than 196608 bytes$/)
  const silent = await server(t, () => {})
  await assert.rejects(fetchKeys(silent.url, SIGNAL, 3, 20), /^Error: no complete answer within 20 ms$/)
  const halting = await server(t, (response) => void response.write('{'))
  await assert.rejects(fetchKeys(halting.url, SIGNAL, 3, 20), /^Error: no complete answer within 20 ms$/)
})

test('a server that is not there', async (t) => {
  const gone = await server(t)
  const { url } = gone
  await gone.stop()
  await assert.rejects(fetchKeys(url, SIGNAL), /^Error: fetch failed \(ECONNREFUSED\)$/)
})
