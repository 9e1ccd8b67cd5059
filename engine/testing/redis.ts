/** As much of Redis as a cache needs, for tests: GET, SET with PX, and what a client says first (RESP2). */
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface FakeRedis {
  readonly port: number
  readonly values: Map<string, Buffer>
  /** Of each SET, in milliseconds. */
  readonly ttls: number[]
  /** Commands are taken, and not answered. */
  isSilent: boolean
  /** How many are connected. */
  connections(): number
  /** Resolves when the next connection has ended. */
  left(): Promise<unknown>
  /** Ends all connections and takes no more. */
  stop(): void
}

export async function startRedis(t: TestContext): Promise<FakeRedis> {
  const sockets = new Set<Socket>()
  const ended = new EventEmitter()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      ended.emit('left')
    })
    let rest = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (let command = commandIn(rest); command !== null; command = commandIn(rest)) {
        rest = rest.subarray(command.end)
        if (!redis.isSilent) socket.write(answer(redis, command.words))
      }
    })
  })
  const redis = {
    port: 0,
    values: new Map<string, Buffer>(),
    ttls: [],
    isSilent: false,
    connections: () => sockets.size,
    left: () => once(ended, 'left'),
    stop: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  }
  t.after(() => redis.stop())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return Object.assign(redis, { port: (server.address() as AddressInfo).port })
}

function answer({ values, ttls }: FakeRedis, [word = Buffer.alloc(0), key, value, , ttl]: readonly Buffer[]): Buffer {
  const name = word.toString().toUpperCase()
  if (name === 'GET') {
    const found = values.get(key!.toString())
    return found === undefined
      ? Buffer.from('$-1\r\n')
      : Buffer.concat([Buffer.from(`$${found.length}\r\n`), found, Buffer.from('\r\n')])
  }
  if (name === 'SET') {
    values.set(key!.toString(), value!)
    ttls.push(Number(ttl))
  }
  if (name === 'EXISTS') return Buffer.from(':0\r\n')
  return Buffer.from(name === 'INFO' ? '$13\r\nloading:0\r\n\r\n\r\n' : '+OK\r\n')
}

/** An array of texts at the start of `bytes`; null: it is not there as a whole. */
function commandIn(bytes: Buffer): { readonly words: readonly Buffer[]; readonly end: number } | null {
  const line = (from: number): [number, number] | null => {
    const at = bytes.indexOf('\r\n', from)
    return at < 0 ? null : [Number(bytes.toString('latin1', from + 1, at)), at + 2]
  }
  const head = line(0)
  if (head === null) return null
  const words: Buffer[] = []
  let at = head[1]
  for (let i = 0; i < head[0]; i++) {
    const size = line(at)
    if (size === null || bytes.length < size[1] + size[0] + 2) return null
    words.push(Buffer.from(bytes.subarray(size[1], size[1] + size[0])))
    at = size[1] + size[0] + 2
  }
  return { words, end: at }
}
