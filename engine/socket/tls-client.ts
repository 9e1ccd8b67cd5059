/** TLS towards upstreams over Node's handles: what connectTls of tls.ts does over node:tls, at less cost. */
import { getSystemErrorName } from 'node:util'
import { type Handle, STATE_ASYNC, type TlsHandle } from './handles.ts'
import { inTurn } from './round.ts'
import type { Connected, DialOptions } from './socket-layer.ts'
import type { TlsClient } from './tls.ts'
import type { TlsShared } from './tls-shared.ts'
import { protocolFault, type TlsFault } from './tls-verify.ts'
import { TlsWire } from './tls-wire.ts'

/** What only a client asks of a TLS handle (handles.ts has looked for these). */
interface ClientHandle extends TlsHandle {
  setServername(name: string): void
  setSession(session: Buffer): void
  enableSessionCallbacks(): void
  onnewsession: ((id: Buffer, session: Buffer) => void) | null
}

/**
 * Makes TLS over `below`, a handle that has just been connected, and calls back once. Returns a function that gives up.
 * What the connection begins with goes first: there must be no write under way when OpenSSL begins.
 */
export function startClient(
  below: Handle,
  client: TlsClient,
  shared: TlsShared,
  done: Connected,
  dial: DialOptions
): () => void {
  const { preamble = '' } = dial
  if (preamble === '') return shake(below, client, shared, done, dial)
  let giveUp = () => below.close()
  const onPreamble = (status: number) => {
    if (status >= 0) {
      giveUp = shake(below, client, shared, done, dial)
      return
    }
    below.close()
    giveUp = () => {}
    done(getSystemErrorName(status), null)
  }
  const request = shared.handles.newWrite()
  let isOver = false
  request.oncomplete = (status) => {
    if (!isOver) inTurn(onPreamble, status)
  }
  const error = below.writeLatin1String(request, preamble)
  // A socket that has just been connected has room, so this is what happens.
  if (error < 0 || shared.state[STATE_ASYNC] === 0) onPreamble(error)
  return () => {
    isOver = true
    giveUp()
  }
}

function shake(below: Handle, client: TlsClient, shared: TlsShared, done: Connected, dial: DialOptions): () => void {
  below.setNoDelay?.(true)
  const handle = shared.handles.wrapTls(below, client.context.context, false) as ClientHandle
  // The judgement is ours (TlsClient.judge), so a handshake with a wrong certificate comes to its end.
  handle.setVerifyMode(true, false)
  if (client.protocols.length > 0) handle.setALPNProtocols(alpnList(client.protocols))
  if (client.sni !== '') handle.setServername(client.sni)
  const session = client.takeSession()
  if (session !== undefined) handle.setSession(session)
  const kept: Buffer[] = []
  let isJudged = false
  handle.onnewsession = (_id, session) => {
    if (isJudged) client.keepSession(session)
    else kept.push(session)
  }
  handle.enableSessionCallbacks()
  const fail = ({ code, text }: TlsFault) => {
    client.forgetSessions()
    done(code, null, { reason: text, protocol: '', resumed: false })
  }
  const wire = new TlsWire(below, handle, shared, (code) => {
    if (code !== null) {
      fail(protocolFault(code, ''))
      return
    }
    const resumed = handle.isSessionReused()
    const chainError = handle.verifyError()
    const fault = resumed
      ? null
      : client.judge(chainError === null ? null : (chainError.code ?? chainError.message), () => {
          return handle.getPeerCertificate(true)?.raw
        })
    if (fault !== null) {
      wire.destroy()
      fail(fault)
      return
    }
    isJudged = true
    for (const session of kept) client.keepSession(session)
    done(null, wire, { reason: '', protocol: handle.getALPNNegotiatedProtocol() || '', resumed })
  })
  dial.reached?.()
  wire.start(null)
  return () => wire.destroy()
}

/** RFC 7301 section 3.1. */
function alpnList(names: readonly string[]): Buffer {
  return Buffer.concat(names.map((name) => Buffer.from(`${String.fromCharCode(name.length)}${name}`, 'latin1')))
}
