/** One connection to one address, as its host wants it: in clear text, with TLS, or as workloads of a mesh do. */
import type { MayDial } from '#engine/contract/guarded-fetch.ts'
import { inTurn } from '#engine/socket/round.ts'
import type { Connected, DialOptions, SocketLayer, TlsOutcome } from '#engine/socket/socket-layer.ts'
import { ALPN_DEFAULT, type TlsClient } from '#engine/socket/tls.ts'
import type { DialledAddress } from './address-list.ts'
import { alpnOf, type HTTP1, HTTP2 } from './http-version.ts'
import type { MeshTls } from './mesh.ts'

/** Code of a connection that is not begun, because there is nothing to show to a workload of the mesh. */
export const NO_MESH_CERTIFICATE = 'NO_MESH_CERTIFICATE'

/** As the system says that it refuses. */
const REFUSED = 'EACCES'

export interface Connector {
  readonly sockets: SocketLayer
  readonly mesh: MeshTls
  /** Absent: any address may be dialled. */
  readonly mayDial?: MayDial | null
}

/** As SocketLayer.connect. `version`: what is to be spoken there, bytes that nobody reads as HTTP/1.1. */
export function connectTo(
  { address, host }: Pick<DialledAddress, 'address' | 'host'>,
  version: typeof HTTP1 | typeof HTTP2,
  { sockets, mesh, mayDial = null }: Connector,
  done: Connected,
  dial: DialOptions
): () => void {
  if (mayDial !== null && 'ip' in address && !mayDial(address.ip, address.port)) return refuse(done, REFUSED)
  let tls: TlsClient | null | string
  if (host.identity === null) tls = version === HTTP2 ? host.http2Tls : host.tls
  else tls = mesh.client(host.identity, version === HTTP2 ? alpnOf(host.options.http?.version ?? 'auto') : ALPN_DEFAULT)
  if (typeof tls !== 'string') return sockets.connect(address, done, tls, dial)
  return refuse(done, NO_MESH_CERTIFICATE, { reason: tls, protocol: '', resumed: false })
}

/** Who asks holds what gives up before the outcome comes. */
function refuse(done: Connected, code: string, outcome?: TlsOutcome): () => void {
  const later = setImmediate(() => inTurn(() => done(code, null, outcome)))
  return () => clearImmediate(later)
}
