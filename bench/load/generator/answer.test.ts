import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerReader, DONE, MORE, type Reading } from './answer.ts'

const BODY = 'hello, gateway'
const EXPECTED = { status: 200, body: Buffer.from(BODY) }
const FIXED = `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const CHUNKED = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n9;a=b\r\n, gateway\r\n0\r\nX-Trailer: 1\r\n\r\n`

/** Reads `pieces` one after the other; the first reading that is not MORE, and how many pieces it took. */
function read(...pieces: string[]): Reading {
  const reader = new AnswerReader(EXPECTED)
  for (const [i, piece] of pieces.entries()) {
    const reading = reader.read(Buffer.from(piece), 0, piece.length)
    if (reading !== MORE) return i === pieces.length - 1 ? reading : 'extra'
  }
  return MORE
}

test('an answer is read whole, and split at every byte', () => {
  for (const text of [FIXED, CHUNKED]) {
    assert.equal(read(text), DONE)
    for (let at = 1; at < text.length; at++)
      assert.equal(read(text.slice(0, at), text.slice(at)), DONE, `split at ${at}`)
    assert.equal(read(...text), DONE)
  }
})

test('bytes behind those of this read are ignored', () => {
  const reader = new AnswerReader(EXPECTED)
  const buffer = Buffer.from(FIXED)
  const half = FIXED.indexOf('\r\n\r\n') + 2
  assert.equal(reader.read(buffer, 0, half), MORE)
  assert.equal(reader.read(buffer, half, buffer.length), DONE)
  assert.equal(reader.bodyBytes, BODY.length)
})

test('one reader reads many answers, and says when the server closes', () => {
  const reader = new AnswerReader(EXPECTED)
  for (let i = 1; i <= 3; i++) {
    assert.equal(reader.read(Buffer.from(FIXED), 0, FIXED.length), DONE)
    assert.equal(reader.bodyBytes, i * BODY.length)
    assert.equal(reader.closing, false)
  }
  const last = FIXED.replace('\r\n', '\r\nConnection: close\r\n')
  assert.equal(reader.read(Buffer.from(last), 0, last.length), DONE)
  assert.equal(reader.closing, true)
})

test('wrong answers are distinguished', () => {
  assert.equal(read(FIXED.replace('200 OK', '502 Bad Gateway')), 'status')
  assert.equal(read(FIXED.replace('HTTP/1.1', 'HTTP/1.0')), 'framing')
  assert.equal(read(FIXED.replace('hello', 'jello')), 'body')
  assert.equal(read(FIXED.replace(String(BODY.length), '3')), 'body')
  assert.equal(read(`${FIXED}x`), 'extra')
  assert.equal(read(`${CHUNKED}x`), 'extra')
  assert.equal(read(CHUNKED.replace('5\r\n', '5x\r\n')), 'framing')
  assert.equal(read(CHUNKED.replace('hello\r\n', 'hello\n\n')), 'framing')
  assert.equal(read(CHUNKED.replace('9;a=b\r\n, gateway\r\n', '')), 'body')
  assert.equal(read(CHUNKED.replace('hello', 'HELLO')), 'body')
  assert.equal(read('HTTP/1.1 200 OK\r\n\r\n'), 'framing')
  assert.equal(read(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`), 'framing')
})

test('parts that may differ are not compared, and everything around them is', () => {
  const text = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const readSplit = (body: string, at: number): Reading => {
    const reader = new AnswerReader({
      status: 200,
      body: Buffer.from(BODY),
      unlike: [
        [1, 3],
        [7, 9]
      ]
    })
    const [head, tail] = [text(body).slice(0, -at), text(body).slice(-at)]
    const first = reader.read(Buffer.from(head), 0, head.length)
    return first === MORE ? reader.read(Buffer.from(tail), 0, tail.length) : first
  }
  for (let at = 1; at < BODY.length; at++) {
    assert.equal(readSplit('hXXlo, XXteway', at), DONE, `split ${at} from the end`)
    assert.equal(readSplit('hXXlo, XXteXay', at), 'body', `split ${at} from the end`)
  }
})
