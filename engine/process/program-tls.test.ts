/** Certificates that change under the whole program, as certbot and Kubernetes do it; misplaced keys. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'

const IN_FORCE = /configuration [0-9a-f]{12} in force/
const pairs = ['one', 'two', 'three'].map((name) => selfSigned([`${name}.test`]))

interface Started {
  readonly path: string
  readonly port: number
  readonly program: RunningProgram
}

/** `prepare`: puts the files `tls.crt` and `tls.key` of the folder in place. */
async function started(t: TestContext, prepare: (path: string) => void): Promise<Started> {
  const path = mkdtempSync(join(tmpdir(), 'weir-program-tls-'))
  t.after(() => rmSync(path, { recursive: true }))
  prepare(path)
  const port = await freePort()
  const text = `
config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 2 }
binds:
- port: ${port}
  listeners:
  - protocol: HTTPS
    tls: { cert: tls.crt, key: tls.key }
    routes: [{ policies: { directResponse: { status: 204 } } }]
`
  writeFileSync(join(path, 'weir.yaml'), text)
  const program = runProgram(['-f', join(path, 'weir.yaml')])
  t.after(() => program.stop())
  await program.logged('target=start')
  return { path, port, program }
}

async function open(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
  await once(socket, 'secureConnect')
  return socket
}

async function answer(socket: TLSSocket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [data] = (await once(socket, 'data')) as [Buffer]
  return data.toString('latin1').split('\r\n')[0]!
}

/** The name that new connections see, which are several so that both workers have their say. */
async function names(port: number): Promise<string[]> {
  const sockets = await Promise.all(Array.from({ length: 8 }, () => open(port)))
  const found = new Set(sockets.map((socket) => String(socket.getPeerCertificate().subjectaltname)))
  for (const socket of sockets) socket.destroy()
  return [...found]
}

function write(folder: string, { cert, key }: Pair): void {
  mkdirSync(folder)
  writeFileSync(join(folder, 'tls.crt'), cert)
  writeFileSync(join(folder, 'tls.key'), key)
}

test('a secret of Kubernetes: the link of its folder is swapped; open connections go on', async (t) => {
  const publish = (path: string, version: string, pair: Pair) => {
    write(join(path, version), pair)
    symlinkSync(version, join(path, '..data_tmp'))
    renameSync(join(path, '..data_tmp'), join(path, '..data'))
  }
  const { path, port, program } = await started(t, (folder) => {
    publish(folder, '..1', pairs[0]!)
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name))
  })
  const old = await open(port)
  assert.equal(await answer(old), 'HTTP/1.1 204 No Content')
  assert.deepEqual(await names(port), ['DNS:one.test'])
  publish(path, '..2', pairs[1]!)
  rmSync(join(path, '..1'), { recursive: true })
  await program.logged(IN_FORCE)
  assert.deepEqual(await names(port), ['DNS:two.test'])
  publish(path, '..3', pairs[2]!)
  await program.logged(IN_FORCE, 2)
  assert.deepEqual(await names(port), ['DNS:three.test'])
  assert.equal(await answer(old), 'HTTP/1.1 204 No Content')
  old.destroy()
})

test('certbot: a link for each file, one after the other; between them the old pair stays', async (t) => {
  const link = (path: string, to: string, name: string) => {
    symlinkSync(join('archive', to, name), join(path, 'new'))
    renameSync(join(path, 'new'), join(path, name))
  }
  const { path, port, program } = await started(t, (folder) => {
    mkdirSync(join(folder, 'archive'))
    write(join(folder, 'archive', '1'), pairs[0]!)
    write(join(folder, 'archive', '2'), pairs[1]!)
    for (const name of ['tls.crt', 'tls.key']) link(folder, '1', name)
  })
  link(path, '2', 'tls.crt')
  await program.logged('the key does not belong to the certificate')
  assert.deepEqual(await names(port), ['DNS:one.test'])
  link(path, '2', 'tls.key')
  await program.logged(IN_FORCE)
  assert.deepEqual(await names(port), ['DNS:two.test'])
})

test('a key that is written in place of its path is in no message', async (t) => {
  const program = runProgram([
    '--validate-only',
    '-c',
    JSON.stringify({
      binds: [{ port: 1, listeners: [{ protocol: 'HTTPS', tls: { cert: pairs[0]!.cert, key: pairs[0]!.key } }] }]
    })
  ])
  t.after(() => program.stop())
  assert.equal(await program.exited(), 3)
  const secret = pairs[0]!.key.split('\n')[1]!
  assert.ok(!program.output.includes(secret), 'the key is in the output')
  assert.match(program.output, /tls\.key: must be the path of a file, not the text of it/)
})
