import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { takeFraming } from './fields.ts'
import { HeaderBlock } from './headers.ts'
import { traceTokenOf } from './trace-header.ts'
import { safeTrailers } from './trailers.ts'

function blockOf(...fields: string[]): HeaderBlock {
  const block = new HeaderBlock()
  for (let i = 0; i < fields.length; i += 2) block.receive(fields[i]!, fields[i + 1]!)
  return block
}

it('drops hop-by-hop fields, and fields that Connection names', () => {
  const block = blockOf(
    ...['Host', 'a', 'Connection', 'close, X-A , ,upgrade', 'x-a', '1', 'Keep-Alive', '5', 'TE', 'trailers'],
    ...['Proxy-Connection', 'x', 'Proxy-Authorization', 'y', 'Transfer-Encoding', 'chunked', 'X-B', '2']
  )
  const framing = takeFraming(block)
  equal(block.lines(), 'Host: a\r\nX-B: 2\r\n')
  deepEqual([framing.close, framing.wantsUpgrade, framing.chunked], [true, true, true])
})

it('keeps the token of a trace for the gateway: neither a head nor trailers pass it on', () => {
  const block = blockOf('Host', 'a', 'Content-Type', 'text/plain', 'X-Weir-Trace', ' token ', 'X-B', '2')
  takeFraming(block)
  equal(block.lines(), 'Host: a\r\nContent-Type: text/plain\r\nX-B: 2\r\n')
  equal(block.get('x-weir-trace'), undefined)
  equal(traceTokenOf(block), 'token')
  equal(traceTokenOf(blockOf('Host', 'a')), null)
  equal(safeTrailers('X-Weir-Trace: token\r\nx-b: 2\r\n'), 'x-b: 2\r\n')
})

it('does not let Connection name what frames or addresses the message', () => {
  const block = blockOf('Host', 'a', 'Content-Length', '5', 'Connection', 'Host, Content-Length, Transfer-Encoding')
  equal(takeFraming(block).length, 5)
  equal(block.lines(), 'Host: a\r\nContent-Length: 5\r\n')
})

it('keeps at most one Upgrade', () => {
  const block = blockOf('Upgrade', 'h2c', 'Upgrade', 'websocket', 'Connection', 'upgrade')
  const { upgrade } = takeFraming(block)
  equal(block.value(upgrade), 'websocket')
  equal(block.lines(), 'Upgrade: websocket\r\n')
})

it('knows lengths and codings', () => {
  for (const [value, length] of [
    ['0', 0],
    ['005', 5],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', -2],
    ['99999999999999999999', -2],
    ['+5', -2],
    ['', -2],
    ['5, 5', -2]
  ] as const) {
    equal(takeFraming(blockOf('Content-Length', value)).length, length, value)
  }
  for (const [values, isChunked] of [
    [['chunked'], true],
    [['CHUNKED'], true],
    [['gzip'], false],
    [['gzip, chunked'], false],
    [['chunked', 'chunked'], false],
    [['xchunked'], false]
  ] as const) {
    const framing = takeFraming(blockOf(...values.flatMap((value) => ['Transfer-Encoding', value])))
    deepEqual([framing.coded, framing.chunked], [true, isChunked], values.join())
  }
})

it('passes only trailers that may be trailers', () => {
  equal(safeTrailers(''), '')
  equal(safeTrailers('X: 1\r\nContent-Length: 5\r\nKeep-Alive: 1\r\nset-cookie: a\r\nY: '), 'X: 1\r\nY: \r\n')
  // RFC 9110 section 6.5.1: routing, conditions, authentication, control data.
  equal(safeTrailers('X-Forwarded-For: 1\r\nForwarded: for=1\r\nIf-Match: *\r\nLocation: /\r\nVary: *\r\nDate: x'), '')
  equal(safeTrailers('grpc-status: 0\r\nETag: "a"\r\nDigest: b'), 'grpc-status: 0\r\nETag: "a"\r\nDigest: b\r\n')
})
