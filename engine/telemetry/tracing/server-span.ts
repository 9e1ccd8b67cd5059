/** The span of a request as the gateway serves it: attributes of the HTTP conventions for servers, and our own. */

import { detailOf } from '#engine/contract/detail.ts'
import { ERRORS } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { requestIdOf } from '#engine/contract/request-id.ts'
import type { CompiledMatch, Route } from '#engine/contract/route.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import { hostOf } from '#engine/http/authority.ts'
import { isMethod } from '#engine/http/method.ts'
import { type Attribute, encodeAttributes } from '#engine/telemetry/otlp/attributes.ts'
import { isServerFailure, rpcStatus } from './rpc-status.ts'

/** Low cardinality: methods that nobody knows are one. */
export const methodOf = (method: string): string => (isMethod(method) ? method : '_OTHER')

const DEFAULT_PORT = { http: 80, https: 443 } as const

/** Of the last request: the next one mostly has the same. */
let server = { authority: '', address: '', port: -1 }

function serverOf(authority: string): typeof server {
  if (server.authority !== authority) {
    const port = /:(\d{1,5})$/.exec(authority)
    server = { authority, address: hostOf(authority), port: port === null ? -1 : Number(port[1]) }
  }
  return server
}

function portOf(authority: string, scheme: 'http' | 'https'): number {
  const { port } = serverOf(authority)
  return port < 0 ? DEFAULT_PORT[scheme] : port
}

/** Status 499 is only logged: that client never had a response. */
const isSent = (ex: Exchange): boolean => ex.status !== 0 && ex.error !== 'CLIENT_GONE'

/** What differs from request to request. */
export const SERVER_ATTRIBUTES: readonly Attribute<Exchange>[] = [
  ['url.path', (ex) => ex.originalPath],
  ['network.peer.port', (ex) => ex.client.remotePort || undefined],
  ['http.request.method_original', (ex) => (isMethod(ex.method) ? undefined : ex.method)],
  ['weir.request.id', (ex) => requestIdOf(ex)],
  ['weir.reason.detail', (ex) => detailOf(ex) ?? undefined]
]

/** What many have in common. */
export const STABLE_SERVER_ATTRIBUTES: readonly Attribute<Exchange>[] = [
  ['http.request.method', (ex) => methodOf(ex.method)],
  ['url.scheme', (ex) => schemeOf(ex.client)],
  ['server.address', (ex) => (ex.authority === '' ? undefined : serverOf(ex.authority).address)],
  ['server.port', (ex) => (ex.authority === '' ? undefined : portOf(ex.authority, schemeOf(ex.client)))],
  ['client.address', (ex) => ex.client.remoteAddress || undefined],
  ['network.peer.address', (ex) => ex.client.remoteAddress || undefined],
  ['network.protocol.version', (ex) => ex.client.httpVersion],
  ['user_agent.original', (ex) => ex.request.get('user-agent')],
  ['http.response.status_code', (ex) => (isSent(ex) ? ex.status : undefined)],
  ['rpc.response.status_code', (ex) => rpcStatus(ex.grpcStatus)],
  ['error.type', serverError],
  ['weir.backend', (ex) => ex.backend ?? undefined],
  ['weir.endpoint', (ex) => ex.endpoint ?? undefined],
  ['weir.reason', (ex) => ex.error ?? undefined]
]

/** A refusal (4xx) is the client's error and no server's; neither is a client that leaves. */
export function serverError({ status, error, grpcStatus }: Exchange): string | undefined {
  if (error !== null) {
    const isBroken = status < 400 && error !== 'CLIENT_GONE'
    return ERRORS[error].status >= 500 || isBroken ? error : undefined
  }
  if (status >= 500) return String(status)
  return isServerFailure(grpcStatus) ? rpcStatus(grpcStatus) : undefined
}

/** What is the same for all requests of one match. */
interface RouteNames {
  /** '' without a route. */
  readonly httpRoute: string
  readonly attributes: Buffer
  /** Name of the span, by method. */
  readonly names: Map<string, string>
}

/** Names and constant attributes, made with the first request of a match. */
export class RouteAttributes {
  readonly #skip: ReadonlySet<string>
  readonly #known = new WeakMap<CompiledMatch | Route, RouteNames>()
  readonly #unrouted: RouteNames = { httpRoute: '', attributes: Buffer.alloc(0), names: new Map() }

  readonly #fieldTag: number

  /** `fieldTag`: of the attributes of what they are written into. */
  constructor(skip: ReadonlySet<string>, fieldTag: number) {
    this.#skip = skip
    this.#fieldTag = fieldTag
  }

  of({ route, matchIndex }: Exchange): RouteNames {
    if (route === null) return this.#unrouted
    const match = route.matches[matchIndex] ?? route
    let names = this.#known.get(match)
    if (names === undefined) {
      names = this.#make(route, matchIndex)
      this.#known.set(match, names)
    }
    return names
  }

  /** Low cardinality, by the HTTP conventions: method and route. */
  nameOf({ names, httpRoute }: RouteNames, requestMethod: string): string {
    const known = names.get(requestMethod)
    if (known !== undefined) return known
    const method = isMethod(requestMethod) ? requestMethod : 'HTTP'
    const name = httpRoute === '' ? method : `${method} ${httpRoute}`
    // The methods that are kept are those of a list.
    if (isMethod(requestMethod)) names.set(requestMethod, name)
    return name
  }

  #make(route: Route, matchIndex: number): RouteNames {
    const match = route.matches[matchIndex]
    const httpRoute = match === undefined ? '' : templateOf(match)
    const all: (readonly [string, string])[] = [
      ['http.route', httpRoute],
      ['weir.listener', route.listener],
      ['weir.route', route.name],
      ['weir.route.rule', route.rule]
    ]
    const kept = all.filter(([name, value]) => value !== '' && !this.#skip.has(name))
    return { httpRoute, attributes: encodeAttributes(kept, this.#fieldTag), names: new Map() }
  }
}

/** http.route: a prefix is shown as one. */
function templateOf({ kind, path }: CompiledMatch): string {
  return kind === 'prefix' ? `${path}/*` : path
}
