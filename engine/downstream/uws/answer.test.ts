/** UwsAnswer against a model of the library: what a client gets is what was written, wherever the kernel is full. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BODY_LENGTH, BODY_STREAM, type BodyKind } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { UwsAnswer } from './answer.ts'
import { CORK_BYTES, type HttpResponse } from './library.ts'

/**
 * AsyncSocket.h and HttpResponse.h of the library's version as far as bytes go, with its fault: when what is in the
 * cork does not leave whole, a piece behind it that must be taken is dropped.
 */
class ModelResponse {
  /** The kernel takes so many bytes more. */
  room = 0
  wire = ''
  #cork: string | null = null
  #backlog = ''
  #offset = 0
  #isChunked = false
  #hasLength = false

  cork(step: () => void): this {
    this.#cork = ''
    step()
    this.#uncork('', false)
    return this
  }

  writeStatus(head: Buffer): this {
    this.#put(`HTTP/1.1 ${head.toString('latin1')}\r\n`, false)
    return this
  }

  write(chunk: Buffer): boolean {
    if (!this.#isChunked) this.#put('Transfer-Encoding: chunked\r\n', false)
    this.#isChunked = true
    for (const text of ['\r\n', chunk.length.toString(16), '\r\n']) this.#put(text, false)
    return !this.#put(chunk.toString('latin1'), false)[1]
  }

  tryEnd(bytes: Buffer | string, total: number, isOptional = true): [boolean, boolean] {
    if (!this.#hasLength) this.#put(`Content-Length: ${total}\r\n\r\n`, false)
    this.#hasLength = true
    const text = bytes.toString('latin1')
    const [taken, failed] = this.#put(text, isOptional)
    this.#offset += taken
    return [taken === text.length && !failed, this.#offset === total]
  }

  end(bytes?: Buffer): this {
    if (this.#isChunked) this.#put('\r\n0\r\n\r\n', false)
    else this.tryEnd(bytes ?? '', bytes?.length ?? 0, false)
    return this
  }

  getWriteOffset(): number {
    return this.#offset
  }

  /** The kernel has room for `bytes` more, and the library sends what it can. */
  drain(bytes: number): void {
    this.room += bytes
    this.#put('', false)
  }

  #send(text: string): number {
    const taken = Math.min(text.length, this.room)
    this.room -= taken
    this.wire += text.substring(0, taken)
    return taken
  }

  /** AsyncSocket::write: bytes taken, and whether something now waits for the kernel. */
  #put(text: string, isOptional: boolean): [number, boolean] {
    if (this.#backlog !== '') {
      this.#backlog = this.#backlog.substring(this.#send(this.#backlog))
      if (this.#backlog !== '') {
        if (!isOptional) this.#backlog += text
        return [isOptional ? 0 : text.length, true]
      }
    }
    if (this.#cork !== null) {
      if (this.#cork.length + text.length > CORK_BYTES) return this.#uncork(text, isOptional)
      this.#cork += text
      return [text.length, false]
    }
    const taken = this.#send(text)
    if (taken === text.length) return [taken, false]
    if (!isOptional) this.#backlog += text.substring(taken)
    return [isOptional ? taken : text.length, true]
  }

  #uncork(text: string, isOptional: boolean): [number, boolean] {
    const corked = this.#cork
    this.#cork = null
    if (corked === null) return [0, false]
    if (corked !== '' && this.#put(corked, false)[1]) return [0, true]
    return this.#put(text, isOptional)
  }
}

/** Numbers that look random, below `below`, the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed + 1
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** What was written, and what was on the wire in the end. */
function play(seed: number, kind: BodyKind): { body: string; wire: string } {
  const pick = numbers(seed)
  const model = new ModelResponse()
  const answer = new UwsAnswer(model as unknown as HttpResponse)
  const pieces = Array.from({ length: 12 }, (_, i) => Buffer.alloc(1 + pick(3 ** (1 + pick(11))), `${i} `))
  const body = Buffer.concat(pieces)
  const ex = fakeExchange()
  ex.status = 200
  ex.response = new HeaderBlock()
  ex.response.receive('x', 'y'.repeat(pick(3 ** (1 + pick(10)))))
  ex.responseBody = kind
  ex.responseLength = body.length
  answer.begin(ex, false)
  const settle = () => {
    model.drain(pick(40_000))
    if (answer.isHolding) answer.write(null)
    else if (kind === BODY_LENGTH) answer.isCongested = false
  }
  for (const [i, piece] of pieces.entries()) {
    while (answer.isCongested && answer.isHolding) settle()
    if (pick(4) === 0) answer.keep(piece)
    else {
      answer.isEnding = i === pieces.length - 1
      answer.write(piece)
    }
    if (pick(2) === 0) model.drain(pick(30_000))
  }
  answer.isEnding = true
  while (!answer.isDone) {
    model.drain(pick(40_000))
    answer.write(null)
  }
  model.drain(10_000_000)
  return { body: body.toString('latin1'), wire: model.wire }
}

function unchunk(wire: string): string {
  let body = ''
  for (let at = wire.indexOf('\r\n\r\n') + 4; ; ) {
    const start = wire.indexOf('\r\n', at) + 2
    const size = Number.parseInt(wire.substring(at, start), 16)
    assert.ok(size >= 0, `no size of a chunk at ${at} of ${wire.length}`)
    if (size === 0) return body
    assert.equal(wire.substring(start + size, start + size + 2), '\r\n', `the chunk at ${at} has another length`)
    body += wire.substring(start, start + size)
    at = start + size + 2
  }
}

test('no byte of a stream is lost, wherever the kernel is full', () => {
  for (let seed = 0; seed < 400; seed++) {
    const { body, wire } = play(seed, BODY_STREAM)
    assert.ok(unchunk(wire) === body, `seed ${seed}`)
  }
})

test('no byte of a sized body is lost, wherever the kernel is full', () => {
  for (let seed = 0; seed < 400; seed++) {
    const { body, wire } = play(seed, BODY_LENGTH)
    assert.ok(wire.endsWith(`Content-Length: ${body.length}\r\n\r\n${body}`), `seed ${seed}`)
  }
})
