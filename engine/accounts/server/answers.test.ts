/** A server that answers nonsense: an error that names the question, and never a number of the books. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { stateSchema, translateState } from '#engine/source/state.ts'
import { readBudget, readKeys, readWhole } from './answers.ts'
import { ServerBooks } from './client.ts'
import { connectTo } from './connect.ts'
import type { Connection } from './operations.ts'

/** Answers commands of Redis, each in one array, with the texts of its protocol. */
async function redis(t: TestContext, answers: Readonly<Record<string, string>>): Promise<() => Promise<Connection>> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => socket.destroy())
    socket.on('data', (piece) => {
      text += String(piece)
      for (let command = commandIn(text); command !== null; command = commandIn(text)) {
        text = text.slice(command.bytes)
        const [name = ''] = command.words
        // The script's commands by their own names.
        const known = answers[name === 'evalsha' ? command.words[4]! : name]
        socket.write(known ?? (name === 'info' ? '$0\r\n\r\n' : '+OK\r\n'))
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
  const spec = translateState(stateSchema.parse({ url, timeout: '10s' })).server!
  return async () => {
    const connection = await connectTo(spec, () => undefined)
    t.after(() => connection.close())
    return connection
  }
}

/** Null: it is not whole. Words of commands in small letters; they are ASCII. */
function commandIn(text: string): { readonly words: readonly string[]; readonly bytes: number } | null {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (head === null) return null
  let at = head[0].length
  const words: string[] = []
  while (words.length < Number(head[1])) {
    const length = /^\$(\d+)\r\n/.exec(text.slice(at))
    if (length === null) return null
    const begin = at + length[0].length
    const end = begin + Number(length[1])
    if (text.length < end + 2) return null
    words.push(text.slice(begin, end))
    at = end + 2
  }
  words[0] = words[0]!.toLowerCase()
  return { words, bytes: at }
}

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`

test('a server of Redis that answers nonsense', async (t) => {
  type Ask = (connection: Connection) => Promise<unknown>
  const last: Ask = async (connection) => await connection.last('a')
  const reap: Ask = async (connection) => await connection.reap(1)
  const budgets: Ask = async (connection) => await connection.budgets(['a'])
  const keys: Ask = async (connection) => await connection.keys()
  const version: Ask = async (connection) => await connection.keysVersion()
  const three = (...texts: readonly string[]) => `*3\r\n${texts.map(bulk).join('')}`
  const wrong: readonly (readonly [Ask, string, readonly string[], string])[] = [
    [last, 'hget', [bulk('NaN'), bulk('-1'), bulk('1e400'), bulk(''), bulk('99999999999999999'), '*0\r\n'], 'last'],
    [reap, 'reap', [bulk('x'), ':-1\r\n', '$-1\r\n', '*0\r\n', '+OK\r\n'], 'reap'],
    [
      budgets,
      'hmget',
      [
        ...[three('x', '1', '1'), three('1', '1.5', '1'), three('1', '1', 'x'), three('1', '1', '8640000000000001')],
        ...[three('1', ' ', '1'), three('0x10', '1', '1'), '*3\r\n$-1\r\n$1\r\n1\r\n$1\r\n1\r\n', ':1\r\n', '*0\r\n']
      ],
      'budgets'
    ],
    [keys, 'hgetall', [':5\r\n', '$-1\r\n', '+OK\r\n', `*2\r\n${bulk('a')}:1\r\n`], 'keys'],
    [version, 'get', [bulk('x'), ':-1\r\n', '*0\r\n'], 'keys']
  ]
  for (const [ask, name, answers, what] of wrong) {
    for (const answer of answers) {
      const connection = await (await redis(t, { [name]: answer }))()
      await rejects(ask(connection), { message: `what it answers to ${what} cannot be read` }, JSON.stringify(answer))
    }
  }
})

test('answers that can be read are taken as they are', async (t) => {
  const connect = await redis(t, {
    ...{ hget: bulk('12'), reap: ':3\r\n', hmget: `*3\r\n${bulk('-5')}${bulk('7')}${bulk('8640000000000000')}` },
    ...{ hgetall: `*2\r\n${bulk('bot')}${bulk('{}')}`, get: '$-1\r\n' }
  })
  const connection = await connect()
  deepEqual(await connection.budgets(['a']), [{ used: -5n, spent: 7n, end: 8.64e15 }])
  deepEqual([await connection.last('a'), await connection.reap(1), await connection.keysVersion()], [12, 3, '0'])
  deepEqual(await connection.keys(), new Map([['bot', '{}']]))
})

test('rows of PostgreSQL likewise', () => {
  for (const value of [undefined, null, Number.NaN, 1.5, -1, '-1', '1.5', {}, 2 ** 53])
    match(
      messageOf(() => readWhole(value, 'reap')),
      /^what it answers to reap cannot be read$/
    )
  for (const [used, spent, end] of [
    [1, '1', '1'],
    ['1', null, '1'],
    ['1', '1', undefined],
    ['NaN', '1', '1']
  ])
    match(
      messageOf(() => readBudget(used, spent, end)),
      /to budgets cannot be read$/
    )
  for (const pair of [
    ['a', null],
    [1, 'a'],
    [undefined, undefined]
  ] as const)
    match(
      messageOf(() => readKeys([pair])),
      /to keys cannot be read$/
    )
  deepEqual(readBudget('10', '4', '1'), { used: 10n, spent: 4n, end: 1 })
})

test('books of a server that has forgotten how to count are away, and say so', async (t) => {
  const connect = await redis(t, { hget: bulk('many') })
  const isUp = Promise.withResolvers<boolean>()
  const books = new ServerBooks({
    ...{ writer: 'a', isOpen: false, timeoutMs: 60_000, journal: null, connect },
    watch: { connected: isUp.resolve, answered: () => undefined, failed: () => undefined, uncounted: () => undefined }
  })
  t.after(() => books.close())
  equal(await isUp.promise, false)
  equal(await books.reserve('1', []), 'away')
})

function messageOf(act: () => unknown): string {
  try {
    act()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
