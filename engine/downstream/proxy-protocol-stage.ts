/** Reads the PROXY header of a connection: what comes after it is the client's, from the address that it tells. */
import type { FrontendSettings } from '#engine/ir/frontend.ts'
import { PROXY_FAULTS, readProxyHeader } from '#engine/socket/proxy-header.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { MORE, Stage, type StageContext, TAKEN } from './stage.ts'

/** From the connection to the end of its header, as in agentgateway. */
const HEADER_TIMEOUT_MS = 5_000

export class ProxyStage extends Stage {
  readonly #settings: NonNullable<FrontendSettings['proxyProtocol']>
  readonly #next: (wire: Wire) => void

  constructor(
    place: StageContext,
    wire: Wire,
    settings: NonNullable<FrontendSettings['proxyProtocol']>,
    next: (wire: Wire) => void
  ) {
    super(place, wire, HEADER_TIMEOUT_MS)
    this.#settings = settings
    this.#next = next
  }

  protected decide(bytes: Buffer, start: number, end: number): number {
    const { version, mode } = this.#settings
    const header = readProxyHeader(bytes, start, end, version)
    if (header === 'more') return MORE
    if (typeof header === 'object') {
      if (header.source !== null) this.wire.ends.setPeer(header.source.address, header.source.port)
      return header.end
    }
    if (header === 'none' && mode === 'optional') return start
    this.refuse('BAD_PROXY_HEADER', PROXY_FAULTS[header])
    return TAKEN
  }

  protected proceed(): void {
    this.#next(this.wire)
  }

  /** A client without a header may be one that waits for the server to speak first. */
  protected timedOut(hasBytes: boolean): boolean {
    if (this.#settings.mode === 'optional') return true
    this.refuse('BAD_PROXY_HEADER', hasBytes ? 'the PROXY header did not arrive in time' : PROXY_FAULTS.none)
    return false
  }
}
