/** Passwords, keys and their hashes in the whole program: they appear nowhere. And the pool ends with the program. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'

interface Vector {
  readonly made: string
  readonly password: string
  readonly hash: string
}

const vectors = JSON.parse(
  readFileSync(new URL('../../engine/kit/password/testdata/vectors.json', import.meta.url), 'utf8')
) as Vector[]
const PASSWORD = '0123456789012345678901234567890123456789'
const HASHES = vectors.filter(({ password }) => password === PASSWORD).map(({ hash }) => hash)
const KEY = 'canary-key-5d1f'
const KEY_HASH = createHash('sha256').update(KEY).digest('hex')

/** What must not be seen: also a part of it, and in the encodings in which it arrives. */
const CANARIES = [
  PASSWORD.slice(0, 20),
  Buffer.from(`a0:${PASSWORD}`).toString('base64').slice(0, 24),
  ...['wrong-canary', Buffer.from('a0:wrong-canary').toString('base64').slice(0, 16)],
  ...HASHES.map((hash) => hash.slice(-10)),
  ...[KEY, KEY_HASH.slice(0, 16), 'canary-wrong']
]

function seeNone(text: string, where: string): void {
  for (const canary of CANARIES) assert.ok(!text.includes(canary), `${where} has ${canary}`)
}

function policies(extra: object = {}) {
  const basicAuth = { users: HASHES.map((hash, i) => `a${i}:${hash}`) }
  const apiKey = { keys: [{ key: KEY, metadata: { team: 'x' } }], location: { header: { name: 'x-key' } } }
  return { basicAuth, apiKey, directResponse: { status: 200, body: 'in' }, ...extra }
}

const config = (port: number, admin: number, own: object) =>
  JSON.stringify({
    config: {
      ...{ adminAddr: `127.0.0.1:${admin}`, statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 },
      logging: { level: 'debug', format: 'json' }
    },
    binds: [{ port, listeners: [{ routes: [{ policies: own }] }] }]
  })

async function request(port: number, path: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
  return [answer.status, JSON.stringify([...answer.headers]) + (await answer.text())]
}

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

async function requests(port: number): Promise<void> {
  const key = { 'x-key': KEY }
  const rows: [Record<string, string>, number][] = [
    ...HASHES.map((_, i): [Record<string, string>, number] => [{ ...basic(`a${i}:${PASSWORD}`), ...key }, 200]),
    [{ ...basic('a0:wrong-canary'), ...key }, 401],
    [{ ...basic(`nobody:${PASSWORD}`), ...key }, 401],
    [{ authorization: `Basic ${PASSWORD}` }, 401],
    [{ ...basic(`a0:${PASSWORD}`), 'x-key': 'canary-wrong' }, 401],
    [basic(`a0:${PASSWORD}`), 401]
  ]
  for (const [headers, status] of rows) {
    const [code, text] = await request(port, '/', headers)
    assert.equal(code, status)
    seeNone(text, 'an answer')
  }
}

async function ready(program: RunningProgram): Promise<void> {
  await program.logged('"start"')
}

test('no log, answer, dump or message shows a password, a key or a hash; the program ends with the pool', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-canary-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'weir.json')
  const [port, admin] = [await freePort(), await freePort()]
  writeFileSync(file, config(port, admin, policies()))
  const program = runProgram(['-f', file])
  t.after(() => program.stop())
  await ready(program)
  await requests(port)
  const [status, dump] = await request(admin, '/config_dump')
  assert.equal(status, 200)
  assert.match(dump, /basicAuthentication/)
  assert.match(dump, /"team"/)
  seeNone(dump, 'the dump')
  // A configuration with mistakes beside every secret is refused; the message goes to the log and to the dump.
  const users = [`a0:${HASHES[0]}x`, `b:${PASSWORD}`, `${HASHES[1]}`, `c:${HASHES[2]!.slice(0, -3)}`]
  const keys = [{ key: KEY, keyHash: `sha256:${KEY_HASH}` }, { keyHash: KEY_HASH }, { key: `${KEY}\n` }, { key: 'x' }]
  writeFileSync(
    file,
    config(port, admin, policies({ basicAuth: { users }, apiKey: { keys: [...keys, { key: 'x' }] } }))
  )
  await program.logged('configuration refused')
  seeNone((await request(admin, '/config_dump'))[1], 'the dump with a message')
  program.signal('SIGTERM')
  assert.equal(await program.exited(), 0)
  assert.match(program.output, /BASIC_INVALID/)
  assert.match(program.output, /API_KEY_INVALID/)
  assert.match(program.output, /users\[3\]/)
  seeNone(program.output, 'the log')
})
