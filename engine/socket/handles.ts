/**
 * Node's internal socket handles, where they exist: measured 15-25 % cheaper per small request than
 * node:net (docs/performance-history.md#prototypes). They are internals and may change, so this
 * file checks every piece it uses and returns null when one is missing; the caller then takes net-sockets.ts.
 */

export interface Handle {
  onread: (() => Buffer | undefined) | null
  readStart(): number
  readStop(): number
  useUserBuffer(view: Buffer): void
  writeLatin1String(request: WriteRequest, text: string): number
  writeBuffer(request: WriteRequest, bytes: Buffer): number
  writev(request: WriteRequest, chunks: Buffer[], allBuffers: true): number
  shutdown(request: ShutdownRequest): number
  close(done?: () => void): void
  setNoDelay?(on: boolean): number
  setKeepAlive?(on: boolean, delaySeconds: number): number
  getpeername?(out: { address?: string; port?: number }): number
  getsockname?(out: { address?: string; port?: number }): number
  connect(request: ConnectRequest, address: string, port?: number): number
  connect6?(request: ConnectRequest, address: string, port: number): number
  reset?(done?: () => void): number
}

export interface WriteRequest {
  oncomplete: ((status: number) => void) | null
}

export interface ShutdownRequest {
  oncomplete: (status: number) => void
}

export interface ConnectRequest {
  oncomplete: (status: number) => void
}

/** TLS over a handle: reads and writes are those of the clear text. Its bytes come and go over the handle below. */
export interface TlsHandle extends Handle {
  onhandshakestart: (() => void) | null
  onhandshakedone: (() => void) | null
  /** A fatal error of the protocol; `code` is like ERR_SSL_WRONG_VERSION_NUMBER. */
  onerror: ((error: Error & { code?: string }) => void) | null
  /** Bytes that were read before there was TLS. */
  receive(bytes: Buffer): void
  /** Begins the handshake of a client. */
  start(): void
  setVerifyMode(requests: boolean, needs: boolean): void
  /** Names with their lengths before them (RFC 7301 section 3.1), the preferred first. */
  setALPNProtocols(names: Buffer): void
  getALPNNegotiatedProtocol(): string | false
  getProtocol(): string | null
  getCipher(): { readonly name: string } | undefined
  /** Null, or why the peer's certificate is not to be trusted. */
  verifyError(): (Error & { code?: string }) | null
  getPeerCertificate(isShort: boolean): { readonly raw?: Buffer } | undefined
  isSessionReused(): boolean
  /** From then on `onkeylog` is called with each secret, from within OpenSSL. Absent in a Node without it. */
  enableKeylogCallback?(): void
  onkeylog?: ((line: Buffer) => void) | null
  /** Frees what OpenSSL has of it; not from within one of its callbacks. */
  destroySSL(): void
}

export interface Handles {
  /** `context`: that inside of a node:tls SecureContext. The handle below must have no write under way. */
  wrapTls(below: Handle, context: unknown, isServer: boolean): TlsHandle
  newTcp(): Handle
  newPipe(): Handle
  newWrite(): WriteRequest
  newShutdown(): ShutdownRequest
  newTcpConnect(): ConnectRequest
  newPipeConnect(): ConnectRequest
  /** [READ] bytes read or a negative error, [ASYNC] whether the last write is still under way. */
  readonly state: Int32Array
}

export const STATE_READ = 0
export const STATE_ASYNC = 3
export const EOF = -4095

type Constructor<T> = new (kind?: number) => T

type WrapTls = (below: Handle, context: unknown, isServer: boolean, hasWrite?: boolean) => TlsHandle

const TLS_METHODS = [
  ...['receive', 'start', 'setVerifyMode', 'setALPNProtocols', 'getALPNNegotiatedProtocol', 'getProtocol', 'getCipher'],
  ...['verifyError', 'getPeerCertificate', 'isSessionReused', 'destroySSL', 'useUserBuffer', 'writeBuffer', 'shutdown'],
  ...['setServername', 'setSession', 'enableSessionCallbacks']
]

/** Null when this Node's TLS handles are not as we know them. */
function findTls(binding: (name: string) => Record<string, unknown>): Handles['wrapTls'] | null {
  const { wrap, TLSWrap } = binding('tls_wrap') as { wrap?: WrapTls; TLSWrap?: { prototype: Record<string, unknown> } }
  if (typeof wrap !== 'function' || TLSWrap === undefined) return null
  if (TLS_METHODS.some((name) => typeof TLSWrap.prototype[name] !== 'function')) return null
  // A wrong number of arguments would end the process. The fourth came together with this method.
  const hasFourth = typeof TLSWrap.prototype.writesIssuedByPrevListenerDone === 'function'
  return hasFourth
    ? (below, context, isServer) => wrap(below, context, isServer, false)
    : (below, context, isServer) => wrap(below, context, isServer)
}

/** The handles of this Node, or null when it has not what we need. */
export function findHandles(): Handles | null {
  try {
    const binding = (process as unknown as { binding(name: string): Record<string, unknown> }).binding
    const stream = binding('stream_wrap')
    const tcp = binding('tcp_wrap')
    const pipe = binding('pipe_wrap')
    const Tcp = tcp.TCP as Constructor<Handle>
    const Pipe = pipe.Pipe as Constructor<Handle>
    const Write = stream.WriteWrap as Constructor<WriteRequest>
    const Shutdown = stream.ShutdownWrap as Constructor<ShutdownRequest>
    const TcpConnect = tcp.TCPConnectWrap as Constructor<ConnectRequest>
    const PipeConnect = pipe.PipeConnectWrap as Constructor<ConnectRequest>
    const state = stream.streamBaseState as Int32Array
    const socketKind = (tcp.constants as { SOCKET: number }).SOCKET
    const pipeKind = (pipe.constants as { SOCKET: number }).SOCKET
    const layoutIsKnown =
      stream.kReadBytesOrError === STATE_READ && stream.kLastWriteWasAsync === STATE_ASYNC && state.length >= 4
    const methods = [
      'readStart',
      'readStop',
      'useUserBuffer',
      'writeLatin1String',
      'writeBuffer',
      'writev'
    ] as const satisfies readonly (keyof Handle)[]
    if (!layoutIsKnown || methods.some((name) => typeof Tcp.prototype[name] !== 'function')) return null
    const wrapTls = findTls(binding)
    if (wrapTls === null) return null
    return {
      wrapTls,
      newTcp: () => new Tcp(socketKind),
      newPipe: () => new Pipe(pipeKind),
      newWrite: () => new Write(),
      newShutdown: () => new Shutdown(),
      newTcpConnect: () => new TcpConnect(),
      newPipeConnect: () => new PipeConnect(),
      state
    }
  } catch {
    // A Node without these bindings: that is the answer, not a fault.
    return null
  }
}
