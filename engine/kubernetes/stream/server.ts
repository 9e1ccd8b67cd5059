/** The controller's side of the stream to data planes: HTTP/2 with TLS (docs/design/038-stream-to-data-planes.md). */
import type { DataPlane, GatewayName, PublishedGateway } from './published.ts'

export interface SnapshotServerOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Default: all addresses. */
  readonly host?: string
  /** PEM. */
  readonly tls: { readonly cert: string; readonly key: string }
  /**
   * Whether the owner of this ServiceAccount token is a data plane of `gateway`. A rejection means that nobody can tell
   * now: the data plane tries again later.
   */
  readonly authenticate: (token: string, gateway: GatewayName) => Promise<boolean>
  /** A data plane of this Gateway has come, gone, put something in force or refused it. */
  readonly onChange: (gateway: GatewayName) => void
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void
}

export class SnapshotServer {
  readonly options: SnapshotServerOptions

  constructor(options: SnapshotServerOptions) {
    this.options = options
  }

  /** Resolves with the port. */
  async listen(): Promise<number> {
    return this.options.port
  }

  /** For connections from now on. */
  setCertificate(_tls: SnapshotServerOptions['tls']): void {}

  /**
   * All data planes of `gateway` get this, as soon as they can take it. Returns the version of the draft, which rises
   * only when the draft is another object than before.
   */
  publish(_gateway: GatewayName, _published: PublishedGateway): number {
    return 0
  }

  /** The Gateway is gone: its data planes are not served any more. */
  remove(_gateway: GatewayName): void {}

  /** Those that are connected. */
  dataPlanes(_gateway: GatewayName): readonly DataPlane[] {
    return []
  }

  async close(): Promise<void> {}
}
