import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { systemProgram } from '#engine/testing/system-programs.ts'
import { certificatesOf, chainFaultOf } from './client-certificate.ts'

/** A certificate with extensions of its own, signed by `by`. */
function issued(by: Pair, subject: string, extensions: string): Pair {
  const folder = mkdtempSync(join(tmpdir(), 'weir-chain-'))
  const path = (name: string) => join(folder, name)
  const openssl = (...args: string[]) =>
    execFileSync(systemProgram('openssl'), args, { stdio: ['ignore', 'ignore', 'pipe'] })
  try {
    writeFileSync(path('ca'), by.cert)
    writeFileSync(path('ca.key'), by.key)
    writeFileSync(path('extensions'), extensions)
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', subject]
    openssl('req', ...made, '-keyout', path('key'), '-out', path('request'))
    const signer = ['-CA', path('ca'), '-CAkey', path('ca.key'), '-CAcreateserial', '-extfile', path('extensions')]
    openssl('x509', '-req', '-in', path('request'), ...signer, '-days', '2', '-out', path('cert'))
    return { cert: readFileSync(path('cert'), 'utf8'), key: readFileSync(path('key'), 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const root = authority('root')
const between = issued(root, '/CN=between', 'basicConstraints=critical,CA:TRUE')
const below = issued(between, '/CN=below', 'basicConstraints=CA:FALSE')
const noAuthority = issued(root, '/CN=no', 'basicConstraints=CA:FALSE')
const server = issued(root, '/CN=server', 'extendedKeyUsage=serverAuth')
const client = issued(root, '/CN=client', 'extendedKeyUsage=serverAuth,clientAuth')
const self = selfSigned(['self'])
const stranger = authority('stranger')
const foreign = stranger.issue('/CN=foreign')
/** Signed by another key of the same name. */
const forged = authority('root').issue('/CN=forged')
const chained = (pair: Pair, ...chain: Pair[]): Pair => ({
  ...pair,
  cert: [pair, ...chain].map(({ cert }) => cert).join('')
})

const CASES: readonly (readonly [string, Pair, roots: readonly Pair[]])[] = [
  ['direct', root.issue('/CN=a'), [root]],
  ['one of two authorities', root.issue('/CN=a'), [stranger, root]],
  ['an authority between, sent', chained(below, between), [root]],
  ['an authority between, not sent', below, [root]],
  ['an authority between, known here', below, [root, between]],
  ['an authority between, trusted alone', below, [between]],
  ['the root sent as well', chained(below, between, root), [root]],
  ['a root that is sent alone', chained(foreign, stranger), [root]],
  ['no authority', foreign, [root]],
  ['signed by itself', self, [root]],
  ['signed by itself, and trusted', self, [self]],
  ['expired', root.issue('/CN=old', [], -1), [root]],
  ['expired, and of nobody', stranger.issue('/CN=old', [], -1), [root]],
  [
    'signed by one that may not',
    chained(issued(noAuthority, '/CN=x', 'basicConstraints=CA:FALSE'), noAuthority),
    [root]
  ],
  ['for servers alone', server, [root]],
  ['for both', client, [root]],
  ['signed by another key', forged, [root]]
]

test('a chain is judged as a handshake judges it', async (t) => {
  for (const [what, pair, roots] of CASES) {
    const ca = roots.map(({ cert }) => cert).join('')
    const listening = createServer({ ...self, ca, requestCert: true, rejectUnauthorized: false }).listen(0, '127.0.0.1')
    t.after(() => listening.close())
    await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...pair })
    const [accepted] = (await once(listening, 'secureConnection')) as [TLSSocket]
    const judged = accepted.authorizationError as unknown as string | null
    socket.destroy()
    accepted.destroy()
    assert.equal(chainFaultOf(certificatesOf(pair.cert)!, ca, Date.now()), judged, what)
  }
})
