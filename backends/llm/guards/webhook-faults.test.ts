/**
 * Webhooks that fail in every way that a peer can, for requests, answers and streams, at an address and at a backend of
 * the file: the failure mode holds, and nothing of what the guard was to judge passes in its stead.
 */
import { doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { FAULTS, rawService } from '#engine/testing/faulty-services.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'
import { CHAT, chat } from './guards.fixture.ts'

const MIB = 1024 * 1024
/** An answer may have 64; sockets hold some more. */
const TAKEN_BYTES_MAX = 96 * MIB

const PLACES = {
  'an address': (port: number) => ({ backend: { host: `127.0.0.1:${port}` } }),
  'a backend of the file': () => ({ backendRef: { name: 'judge' } })
}
type Place = keyof typeof PLACES

async function stand(t: TestContext, place: Place, port: number, side: string, more: object) {
  const models = await startModels()
  const promptGuard = { [side]: [{ webhook: { ...PLACES[place](port), ...more } }] }
  const ai = { provider: { openai: {}, host: '127.0.0.1', port: models.port }, promptGuard }
  const gateway = await startGateway(
    JSON.stringify({
      backends: [{ name: 'judge', host: `127.0.0.1:${port}` }],
      binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
    })
  )
  let isClosed = false
  const close = async (): Promise<void> => {
    if (isClosed) return
    isClosed = true
    await gateway.close()
    models.close()
  }
  t.after(close)
  const ask = async (body: object) => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}${CHAT}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    return { status: response.status, text: await response.text() }
  }
  return { models, ask, close }
}

const SIDES = [
  { name: 'requests', side: 'request', more: {} },
  { name: 'answers', side: 'response', more: {} },
  { name: 'streams', side: 'response', more: { stream: true } }
]

for (const place of Object.keys(PLACES) as Place[]) {
  describe(`a webhook at ${place} that`, () => {
    for (const { name, http, timeout = '60s' } of FAULTS) {
      if (http === null) continue
      it(`${name}: refused, or let pass`, async (t) => {
        const webhook = await rawService(t, http)
        for (const { name: what, side, more } of SIDES) {
          for (const [failureMode, status] of [
            ['FailClosed', 503],
            ['FailOpen', 200]
          ] as const) {
            const { ask, models, close } = await stand(t, place, webhook.port, side, { timeout, failureMode })
            const { status: got, text } = await ask(chat('hello', more))
            equal(got, status, `${what}, ${failureMode}`)
            if (status === 200) match(text, /choices/)
            else doesNotMatch(text, /choices/)
            equal(models.requests.length, side === 'request' && status === 503 ? 0 : 1)
            await close()
            await webhook.idle()
          }
        }
      })
    }

    it('sends more than an answer may have, without saying how much: refused, and cut', async (t) => {
      let written = 0
      const webhook = await rawService(t, (socket) => {
        const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB, ' '), Buffer.from('\r\n')])
        const more = () => {
          while (!socket.destroyed && socket.write(piece));
          written = socket.bytesWritten
        }
        socket.on('drain', more)
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        more()
      })
      const { ask, models } = await stand(t, place, webhook.port, 'request', { timeout: '60s' })
      equal((await ask(chat('hello'))).status, 503)
      equal(models.requests.length, 0)
      await webhook.idle()
      ok(written < TAKEN_BYTES_MAX, `${written}`)
    })
  })
}
