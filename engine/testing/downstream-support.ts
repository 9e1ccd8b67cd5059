/** What the cases of engine/downstream/contract.test.ts share. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after } from 'node:test'
import { exchangeRaw, type RawClient, type RawServer, rawClient, rawServer } from './raw.ts'
import type { Stack, StackOptions } from './stack.ts'

/** Starts a stack on the transport under test. */
export type Open = (options: Omit<StackOptions, 'transport' | 'sockets'>) => Promise<Stack>
export type Case = (open: Open) => Promise<void>

export const GET = 'GET /a?b=c HTTP/1.1\r\nHost: example.com\r\n\r\n'
export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const servers: RawServer[] = []
after(() => {
  for (const server of servers) server.close()
})

export async function upstream(serve: (client: RawClient) => void | Promise<void>): Promise<RawServer> {
  const server = await rawServer((client) => {
    Promise.resolve(serve(client)).catch((error: unknown) => {
      // A connection that ends while its script waits is what many cases are about.
      if (!client.ended) throw error
    })
  })
  servers.push(server)
  return server
}

/** Answers every request head that comes with `answer`. */
export function answering(answer: string): Promise<RawServer> {
  return upstream(async (client) => {
    for (let n = 1; ; n++) {
      await client.until(new RegExp(`(?:[\\s\\S]*?\r\n\r\n){${n}}`))
      client.send(answer)
    }
  })
}

/** Sends one request to a stack in front of an upstream that says `answer`; what the client and the upstream saw. */
export async function passOne(
  open: Open,
  answer: string,
  text: string,
  end: string | RegExp
): Promise<{ client: string; seen: string }> {
  let seen = ''
  const server = await upstream(async (peer) => {
    seen = await peer.until('\r\n\r\n')
    peer.send(answer)
  })
  const stack = await open({ upstream: server.port })
  const client = await rawClient(stack.port)
  client.send(text)
  const got = await client.until(end)
  client.close()
  return { client: got, seen }
}

export function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Gives the event loop, and everything connected through it, many turns. */
export async function manyTurns(): Promise<void> {
  const server = await answering(OK)
  for (let i = 0; i < 300; i++) {
    const client = await rawClient(server.port)
    client.send(GET)
    await client.until('ok')
    client.close()
  }
}

export async function refused(open: Open, text: string, status: number): Promise<void> {
  const server = await answering(OK)
  const stack = await open({ upstream: server.port })
  const answer = await exchangeRaw(stack.port, text)
  assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), JSON.stringify(text))
  assert.equal(server.accepted(), 0, 'the upstream must not see it')
}
