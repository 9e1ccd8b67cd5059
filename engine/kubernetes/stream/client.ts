/** The data plane's side of the stream from its controller (docs/design/038-stream-to-data-planes.md). */
import type { ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { GatewayName } from './published.ts'

export interface SnapshotClientOptions {
  /** "host:port" of the controller. */
  readonly address: string
  /** PEM of the authority that its certificate is from. */
  readonly ca: () => string
  /** ServiceAccount token, read anew for each connection: the kubelet replaces it. */
  readonly token: () => string
  readonly gateway: GatewayName
  readonly pod: string
  /** Resolves when it is in force; an Error says why it cannot be. */
  readonly onSnapshot: (received: { readonly version: number; readonly draft: SnapshotDraft }) => Promise<void>
  readonly onEndpoints: (endpoints: ServiceEndpoints) => void
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void
}

/** Connects until it is closed. */
export class SnapshotClient {
  readonly options: SnapshotClientOptions

  constructor(options: SnapshotClientOptions) {
    this.options = options
  }

  start(): void {}

  close(): void {}
}
