/** TLS towards upstreams over node:tls: what tls-client.ts is over Node's internal handles. */
import { connect as netConnect } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import type { ReadMemory } from './memory.ts'
import { NetWire } from './net-wire.ts'
import { inTurn } from './round.ts'
import type { Address, Connected, DialOptions } from './socket-layer.ts'
import type { TlsClient } from './tls.ts'
import { protocolFault, type TlsFault } from './tls-verify.ts'

/** Where node:tls connects to, or a socket that says `hello` in clear text as soon as it is connected. */
function below(address: Address, { preamble = '' }: DialOptions): ConnectionOptions {
  const where = 'unixPath' in address ? { path: address.unixPath } : { host: address.ip, port: address.port }
  if (preamble === '') return where
  const socket = netConnect(where)
  socket.write(preamble, 'latin1')
  return { socket }
}

/** As SocketLayer.connect, when the handshake is done and the server is the right one. */
export function connectTls(
  client: TlsClient,
  memory: ReadMemory,
  address: Address,
  done: Connected,
  dial: DialOptions = {}
): () => void {
  const session = client.takeSession()
  const socket = connect({
    ...below(address, dial),
    // '' is none; without it Node would ask for the destination.
    servername: client.sni,
    secureContext: client.context,
    ALPNProtocols: [...client.protocols],
    // The judgement is ours (TlsClient.judge): one for both ways to carry TLS.
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
    ...(session === undefined ? {} : { session })
  })
  if (dial.keepaliveMs !== undefined) socket.setKeepAlive(dial.keepaliveMs > 0, dial.keepaliveMs)
  let isReached = false
  let isJudged = false
  const fail = ({ code, text }: TlsFault) => {
    socket.off('error', failed)
    // A late failure is ignored.
    socket.on('error', () => {})
    client.forgetSessions()
    socket.destroy()
    inTurn(() => done(code, null, { reason: text, protocol: '', resumed: false }))
  }
  const failed = (error: NodeJS.ErrnoException) => {
    fail(isReached ? protocolFault(error.code, error.message) : { code: error.code ?? 'EIO', text: '' })
  }
  const kept: Buffer[] = []
  socket.on('session', (session) => {
    if (isJudged) client.keepSession(session)
    else kept.push(session)
  })
  socket.once('error', failed)
  socket.once('connect', () => {
    isReached = true
    dial.reached?.()
  })
  socket.once('secureConnect', () => {
    const resumed = socket.isSessionReused()
    const error = socket.authorizationError as unknown
    const chainError =
      error === null || error === undefined ? null : error instanceof Error ? error.message : `${error}`
    const fault = resumed ? null : client.judge(chainError, () => socket.getPeerCertificate(false).raw)
    if (fault !== null) {
      fail(fault)
      return
    }
    isJudged = true
    for (const session of kept) client.keepSession(session)
    socket.off('error', failed)
    const outcome = { reason: '', protocol: socket.alpnProtocol || '', resumed }
    inTurn(() => done(null, new NetWire(socket, memory), outcome))
  })
  return () => {
    socket.off('error', failed)
    // A late failure of an abandoned attempt is ignored.
    socket.on('error', () => {})
    socket.destroy()
  }
}
