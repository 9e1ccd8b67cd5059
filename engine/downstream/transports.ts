/** The transports towards clients, and what each can honour. listen.ts opens them. */
import type { TransportCapabilities } from '#engine/contract/transport-capabilities.ts'
import { UWS } from './uws/capabilities.ts'
import { allowLargeHeads } from './uws/library.ts'

/** Our own: it honours every setting. */
const NODE: TransportCapabilities = {
  name: 'node',
  protocols: null,
  readsProxyHeaders: true,
  sendsTcpProbes: true,
  knowsClientPort: true,
  knowsDestination: true,
  http: [],
  tlsFaults: () => [],
  listenerFaults: () => [],
  warning: null
}

/** `transport`: as a bind of the configuration gives it. 'auto', and what is not known, is the node transport. */
export function capabilitiesOf(transport: unknown): TransportCapabilities {
  return transport === UWS.name ? UWS : NODE
}

/** What has to be done in the main thread before the first worker starts. */
export function prepareTransports(): void {
  allowLargeHeads()
}
