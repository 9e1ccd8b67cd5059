/** A proxy that can be measured. */

/**
 * How clients reach the proxy: clear text; over TLS; over TLS with a handshake for every request; HTTP/2 on clear text
 * and over TLS; gRPC on clear text; as bytes that are passed on.
 */
export type WireName = 'http' | 'https' | 'h2c' | 'h2' | 'grpc' | 'tcp'

export interface Setup {
  readonly port: number
  readonly upstreamPort: number
  /** Worker threads or processes. */
  readonly threads: number
  /** 0: one route for everything. Otherwise that many, routePath(i) the prefix of each. */
  readonly routes: number
  /** The one route has the policies of engine/testing/chain.ts; of Weir only. */
  readonly hasChain: boolean
  /** The access log is on, as it ships, and goes to a file in `folder`. */
  readonly isLogged: boolean
  /** Port of a service that each request is checked with (Envoy's ext_authz over gRPC); null: none is. */
  readonly checkPort: number | null
  /** Clients speak chat completions; of Weir, the backend is a provider that does too, or one of Anthropic's. */
  readonly model: 'native' | 'converted' | null
  /** The backend streams at once, to requests with the field X-Bench. */
  readonly isAtOnce: boolean
  readonly wire: WireName
  /** PEM files of the server, where the wire has TLS. */
  readonly certificate: Certificate
  /** Client connections that must fit. */
  readonly connections: number
  /** Requests at a time on each. */
  readonly streams: number
  /** An empty folder for the configuration and whatever else the program writes. */
  readonly folder: string
}

/** Paths. `both`: the chain and the key in one file. */
export interface Certificate {
  readonly chain: string
  readonly key: string
  readonly both: string
}

export interface Command {
  readonly program: string
  readonly args: readonly string[]
}

export interface Peer {
  readonly name: string
  /** It reads what it passes on to models. */
  readonly translates?: true
  /** What it can be reached by; absent: by clear text only. */
  readonly wires?: ReadonlySet<WireName>
  /** Its access log can be measured. What it writes to stdout goes to a file then. */
  readonly logs?: true
  /** It can have requests checked by a service. */
  readonly checks?: true
  /** It serves models only, and words answers in its own way. */
  readonly asks?: 'models'
  /** Header fields that it needs from clients, each with its line end. */
  fields?(setup: Setup): string
  /** What to run, or, for the reader, why it cannot be run here. */
  find(): Command | { readonly missing: string }
  /** What the program says about its version. */
  version(command: Command): string
  /**
   * Writes the configuration into setup.folder and gives the arguments that start the program with
   * it: in the foreground, with keepalive to 127.0.0.1:upstreamPort.
   */
  configure(setup: Setup): readonly string[]
}

/** Path prefix of route number `i`, of the same length for all. */
export function routePath(i: number): string {
  return `/service-${String(i).padStart(5, '0')}`
}
