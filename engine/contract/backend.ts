/** What a kind of backend compiles to, and what it gets to work with. */
import type { BackendConfig } from './backend-config.ts'
import type { BackendTransport } from './backend-transport/transport.ts'
import type { Background } from './background.ts'
import type { BodyProcessing } from './body-processor.ts'
import type { CallExplanation } from './call-explanation.ts'
import type { CheckCredentials } from './check-credentials.ts'
import type { Children, ChildSpec } from './children.ts'
import type { Problem } from './config-error.ts'
import type { Destination, Endpoint, EndpointOptions, HostGroup, WeightedHost } from './endpoint.ts'
import type { ErrorCode } from './errors.ts'
import type { BackendType, DialectFinder, Exchange, LocalReply } from './exchange.ts'
import type { RetryPlan, RouteSettings } from './filter.ts'
import type { InProcess } from './in-process.ts'
import type { ObjectOwners } from './object-owners.ts'
import type { Offload, PolicyServices } from './policy.ts'
import type { NamedModel } from './price-list.ts'
import type { PriceBook } from './prices.ts'
import type { Revocations } from './revocations.ts'
import type { KeyLocation } from './route.ts'
import type { Services } from './service.ts'
import type { TcpReason } from './tcp.ts'

/** What the engine lends to backends. */
export interface UpstreamClient {
  /**
   * The state of a destination (pools, health, addresses), made once and kept over reloads.
   * `guarded`: refuse private, loopback, link-local and metadata addresses when dialling.
   */
  endpoint(destination: Destination | HostGroup, options: EndpointOptions): Endpoint
  /** Hosts that are known of "name:port" without DNS (HostLists): the same list until it is another one. Null: none. */
  hostsOf(name: string): readonly WeightedHost[] | null
  /** Of the endpoint of a group: addresses that stay keep their connections and what is known of them. */
  setHosts(endpoint: Endpoint, hosts: readonly WeightedHost[]): void
  /**
   * What active checks of `endpoint` show while the configuration is in force that says so; null: nothing. Of several
   * that share an endpoint the last one holds. While a backend is compiled, what is returned need not be kept.
   */
  checkAs(endpoint: Endpoint, credentials: CheckCredentials | null): Background
  /** Sends ex to the endpoint; everything that follows arrives as ServerEvents. */
  send(ex: Exchange, endpoint: Endpoint): void
}

/** What a backend may use when it is compiled for the routes of one configuration. */
export interface BackendContext {
  /** Key of the backend in the Snapshot. */
  readonly name: string
  readonly hostRewrite: RouteSettings['hostRewrite']
  readonly connectTimeoutMs: number
  readonly upstream: UpstreamClient
  /** Ends an exchange that cannot be sent anywhere with the gateway's own reply. */
  readonly fail: (ex: Exchange, code: ErrorCode) => void
  /** Ends an exchange that has no response yet with `reply`. */
  readonly reply: (ex: Exchange, reply: LocalReply) => void
  readonly inProcess: InProcess
  /** For what works on bodies while they pass. */
  readonly bodies: BodyProcessing
  /** Servers of others that it asks beside its own. */
  readonly services: Services
  readonly children: Children
  /** While a backend is compiled: what goes on beside its requests, in addition to CompiledBackend.background. */
  readonly addBackground: (work: Background) => void
  /** 32 random bytes of this process, the same in all its threads: for seals that no configuration has a key for. */
  readonly secret: Uint8Array
  readonly revocations: Revocations
  /** Whose the objects of providers are; null: nobody keeps that (config.state). */
  readonly owners: ObjectOwners | null
  /** Which of the workers of the process this is. */
  readonly worker: { readonly index: number; readonly count: number }
  /** What lives longer than a configuration, in this thread: made once for each key (PolicyServices.state). */
  readonly state: PolicyServices['state']
  /** What calls of models cost. */
  readonly prices: PriceBook
  /** Runs work that is too slow for an event loop in a thread of its own. */
  readonly offload: Offload
  /** Longest body that may be kept whole. */
  readonly maxBufferBytes: number
  /** llm.completion is read when the exchange is over: streams are recorded for it. */
  readonly keepsAnswers?: boolean
  /** To the log of the process, for what no exchange can tell. Never anything secret. */
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
}

export interface CompiledBackend {
  /** False while nothing of it can be reached: another backend of the route is the better choice. */
  readonly isUsable: () => boolean
  /** Absent: a client that is refused before the backend gets a text. */
  readonly dialect?: DialectFinder
  /** Where its clients show their keys when not in Authorization; null or absent: nowhere else. */
  readonly keyLocations?: readonly KeyLocation[] | null
  /** How routes to it try again that do not say so themselves; null: they do not. */
  readonly retry?: RetryPlan | null
  /** It keeps the request's body until the exchange is over; absent: only until its answer begins. */
  readonly keepsRequest?: boolean
  /** What it does beside requests while its configuration is in force. */
  readonly background?: Background
  /** What it does with an exchange that it has sent, for people who ask; null or absent: there is nothing to say. */
  readonly explain?: (ex: Exchange) => CallExplanation | null
  /** Sends the exchange, or fails it; sets ex.backend. */
  readonly serve: (ex: Exchange) => void
}

/** Where connections go that are passed on unread. */
export interface StreamDestination {
  /** Null: to the server that the client names (SNI), on the port that it has connected to. */
  readonly to: Destination | HostGroup | null
  readonly guarded: boolean
  readonly allow: readonly string[]
  readonly transport: BackendTransport | undefined
}

/** A kind of backend; backends/index.ts lists them, build gets that list as an argument. */
export interface BackendKind extends BackendType {
  /** Absent: no source describes such a backend by a key of its own. */
  readonly config?: BackendConfig
  /** Child processes that it has while it is configured. */
  readonly children?: (backend: never) => readonly Pick<ChildSpec, 'target' | 'cmd' | 'args' | 'env' | 'cwd'>[]
  /**
   * Of plain servers: where bytes of TCP go, or why they cannot. `endsTls`: they come out of TLS that ends here.
   * Absent: nowhere.
   */
  readonly stream?: (backend: never, endsTls: boolean) => StreamDestination | TcpReason
  /** The models that it asks. Absent: it asks none. */
  readonly models?: (backend: never) => readonly NamedModel[]
  /** Build time: called once per backend and host rewriting mode. */
  readonly compile: (backend: never, context: BackendContext) => CompiledBackend
  /**
   * Runs in the main thread, which serves no traffic, before a configuration goes to workers: work that would block
   * their loops (large documents). Its result goes to them in place of `backend`. Throws ConfigError.
   */
  readonly prepare?: (backend: never, context: PrepareContext) => unknown
  /** The backend with this key of sessions, unless it has one of its own. Absent: it has no sessions. */
  readonly withSessionKey?: (backend: never, key: string) => unknown
}

export interface PrepareContext {
  /** Key of the backend in the Snapshot. */
  readonly name: string
  /** What people should know of a configuration that is in order. */
  readonly warn: (problem: Problem) => void
}
