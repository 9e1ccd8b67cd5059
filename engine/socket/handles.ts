/**
 * Node's internal socket handles, where they exist: measured 15-25 % cheaper per small request than
 * node:net (reference figures in docs/performance.md). They are internals and may change, so this
 * file checks every piece it uses and returns null when one is missing; the caller then takes net.ts.
 */

export interface Handle {
  onread: (() => Buffer | undefined) | null
  readStart(): number
  readStop(): number
  useUserBuffer(view: Buffer): void
  writeLatin1String(request: WriteRequest, text: string): number
  writeBuffer(request: WriteRequest, bytes: Buffer): number
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

export interface Handles {
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
    const methods: (keyof Handle)[] = ['readStart', 'readStop', 'useUserBuffer', 'writeLatin1String', 'writeBuffer']
    if (!layoutIsKnown || methods.some((name) => typeof Tcp.prototype[name] !== 'function')) return null
    return {
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
