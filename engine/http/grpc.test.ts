import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { grpcMessage, grpcStatusOf, grpcTimeoutMs, isGrpc, isGrpcType, readGrpcStatus } from './grpc.ts'
import { HeaderBlock } from './headers.ts'

function headers(...pairs: readonly (readonly [string, string])[]): HeaderBlock {
  const block = new HeaderBlock()
  for (const [name, value] of pairs) block.receive(name, value)
  return block
}

test('gRPC is known by its content type, and gRPC-Web is something else', () => {
  const types = ['application/grpc', 'application/grpc+proto', 'Application/gRPC;charset=x', 'application/grpc ; a=b']
  for (const type of types) equal(isGrpcType(type), true, type)
  const others = [
    'application/grpc-web',
    'application/grpc-web+proto',
    'application/grp',
    'application/grpcs',
    '',
    'a/b'
  ]
  for (const type of others) equal(isGrpcType(type), false, type)
  equal(isGrpc('POST', headers(['Content-Type', 'application/grpc'])), true)
  equal(isGrpc('GET', headers(['Content-Type', 'application/grpc'])), false)
  equal(isGrpc('POST', headers()), false)
})

test('statuses of HTTP become statuses of gRPC as the gRPC project maps them', () => {
  const mapped = [400, 401, 403, 404, 429, 431, 502, 503, 504, 200, 302, 408, 413, 418, 499, 500, 505].map(grpcStatusOf)
  deepEqual(mapped, [13, 16, 7, 12, 14, 13, 14, 14, 14, 2, 2, 2, 2, 2, 2, 2, 2])
})

test('messages are percent-encoded UTF-8', () => {
  equal(grpcMessage('the backend did not answer in time'), 'the backend did not answer in time')
  equal(grpcMessage('100 %\n'), '100 %25%0A')
  equal(grpcMessage('nö €'), 'n%C3%B6 %E2%82%AC')
  equal(grpcMessage('~\x7f'), '~%7F')
  equal(grpcMessage(''), '')
})

test('timeouts in every unit; what is no timeout is none', () => {
  const of = (value: string) => grpcTimeoutMs(headers(['grpc-timeout', value]))
  deepEqual(['1H', '2M', '3S', '4m', '5000u', '6000000n', '1n', '0S'].map(of), [
    ...[3_600_000, 120_000, 3_000, 4, 5, 6, 1, 1]
  ])
  equal(of('99999999H'), 99_999_999 * 3_600_000)
  for (const value of ['', 'S', '1', '1s', '-1S', '1.5S', '123456789S', '1 S', '1SS']) equal(of(value), 0, value)
  equal(grpcTimeoutMs(headers()), 0)
})

test('grpc-status of heads and of trailers', () => {
  deepEqual(['0', '16', '17', '99', '100', '-1', 'x', '', undefined].map(readGrpcStatus), [
    ...[0, 16, 2, 2, -1, -1, -1, -1, -1]
  ])
})
