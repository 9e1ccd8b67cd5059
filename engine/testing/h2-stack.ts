/** A stack in front of a server of HTTP/2 that a test speaks for frame by frame. */
import { equal } from 'node:assert/strict'
import { type FrameClient, frame, OK_HEAD, startFrameServer } from './h2-origin.ts'
import type { RawServer } from './raw.ts'
import { type Stack, type StackOptions, startStack } from './stack.ts'

const HEADERS = 1
/** END_STREAM and END_HEADERS. */
const WHOLE = 5

export const uint32 = (value: number): string =>
  String.fromCharCode(value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255)

/** 200 without a body. */
export const answer = (stream: number): string => frame(HEADERS, WHOLE, stream, OK_HEAD)

/** Both end with `run`, which must leave nothing under way. */
export async function withServer(
  started: Promise<RawServer>,
  options: Partial<StackOptions>,
  run: (stack: Stack, server: RawServer) => Promise<void>
): Promise<void> {
  const server = await started
  const stack = await startStack({ upstream: server.port, spoken: { version: 'HTTP2' }, ...options })
  try {
    await run(stack, server)
    equal(stack.upstream.counts().busy, 0)
  } finally {
    stack.close()
    server.close()
  }
}

/** Says `first` to the first request, and answers all others. */
export function once(first: (stream: number, client: FrameClient) => void): Promise<RawServer> {
  let requests = 0
  return startFrameServer(({ type, stream }, client) => {
    if (type !== HEADERS) return
    if (requests++ === 0) first(stream, client)
    else client.send(answer(stream))
  })
}
