import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { AnswerReader, DONE } from './generator/answer.ts'
import { common, expectedOfLearned, learn } from './learned.ts'

const answer = (id: string, at: number, text = 'Hello') => `{"id":"${id}","created":${at},"k":"w-${id}","t":"${text}"}`

test('ids of one answer may differ, all else may not', () => {
  const samples = [answer('abc1', 1_700_000_000), answer('abd2', 1_700_000_000), answer('abe3', 1_700_000_000)]
  const expected = expectedOfLearned(common(samples, ['He', 'llo']))
  const reading = (body: string) => {
    const bytes = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    return new AnswerReader(expected).read(bytes, 0, bytes.length)
  }
  assert.equal(reading(answer('xyz9', 1_800_000_001)), DONE)
  assert.equal(reading(answer('abc1', 1_700_000_000, 'Hallo')), 'body')
  assert.throws(() => common(samples, ['llo', 'He']), /lacks "He"/)
  assert.throws(() => common([answer('a', 1), answer('ab', 1)], []), /differ in length/)
})

test('a gateway is tried with a real request, and one that is not there is recognized', async () => {
  const server = createServer((request, response) => {
    response.statusCode = request.headers['x-key'] === 'a: b' ? 200 : 401
    request.on('data', (bytes: Buffer) => response.end(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const request = (key: string) => `POST /x HTTP/1.1\r\nHost: h\r\nX-Key: ${key}\r\nContent-Length: 2\r\n\r\nok`
  const learned = await learn(port, request('a: b'), ['ok'], () => true, 0)
  assert.deepEqual(learned, { status: 200, text: 'ok', unlike: [] })
  await assert.rejects(
    learn(port, request('none'), [], () => true, 0),
    /answers with 401: ok/
  )
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
  await assert.rejects(
    learn(port, request('a: b'), [], () => false, 60_000),
    /ECONNREFUSED/
  )
})
