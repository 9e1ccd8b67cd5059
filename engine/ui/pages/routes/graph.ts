/** The configuration in force as what a request goes through: port, listener, route, policies, backends. */

import type { Explanation } from '#engine/explain/explanation.ts'
import {
  type Backend,
  ownName,
  type PolicySet,
  type RouteMatch,
  type Snapshot,
  type WeightedBackend
} from '#engine/ir/snapshot.ts'
import type { Answer } from '#engine/ui/api/client.ts'

export interface PolicyNode {
  readonly name: string
  /** Which attachment point's it is: the most precise one that has it replaces the others whole. */
  readonly level: 'gateway' | 'listener' | 'route'
  readonly phase: 'PreRouting' | 'PostRouting'
  readonly value: unknown
}

export interface BackendNode {
  readonly name: string
  readonly kind: string
  /** 0..1, of the requests of the route. */
  readonly share: number
  /** Of a plain server. */
  readonly address: string | null
  /** Names of policies around it. */
  readonly policies: readonly string[]
}

export interface RouteNode {
  /** With that of its rule. */
  readonly name: string
  /** Without: what it got is counted for all rules of a route together. */
  readonly route: string
  readonly hostnames: readonly string[]
  /** Empty for connections that are passed on. */
  readonly matches: readonly string[]
  readonly policies: readonly PolicyNode[]
  readonly backends: readonly BackendNode[]
}

export interface ListenerNode {
  readonly port: number
  readonly name: string
  readonly hostname: string
  readonly protocol: string
  /** What acts before the route is known. */
  readonly before: readonly PolicyNode[]
  readonly routes: readonly RouteNode[]
}

/** The API answers with the snapshot as it is, but for secrets. */
export function listenersOf(answer: Answer<'getConfiguration'>): readonly ListenerNode[] {
  const { gateway, binds, backends } = answer.snapshot as unknown as Snapshot
  return binds.flatMap(({ port, listeners }) =>
    listeners.map((listener): ListenerNode => {
      const { name, hostname, protocol, policies, preRouting } = listener
      const routes = listener.routes.map((route): RouteNode => {
        const { hostnames, matches } = route
        const levels = { gateway: gateway.policies, listener: policies, route: route.policies }
        return {
          ...{ name: ownName(route), route: route.name, hostnames, matches: matches.map(matchText) },
          policies: effective(levels, 'PostRouting'),
          backends: backendsOf(route.backends, backends)
        }
      })
      const tcp = listener.tcpRoutes.map(
        (route): RouteNode => ({
          ...{ name: route.name, route: route.name, hostnames: route.hostnames, matches: [], policies: [] },
          backends: backendsOf(route.backends, backends)
        })
      )
      const before = effective({ gateway: gateway.preRouting, listener: preRouting, route: {} }, 'PreRouting')
      return { port, name, hostname, protocol, before, routes: [...routes, ...tcp] }
    })
  )
}

function effective(
  levels: { readonly [level in PolicyNode['level']]: PolicySet },
  phase: PolicyNode['phase']
): readonly PolicyNode[] {
  const found = new Map<string, PolicyNode>()
  for (const level of ['gateway', 'listener', 'route'] as const) {
    for (const [name, value] of Object.entries(levels[level])) found.set(name, { name, level, phase, value })
  }
  return [...found.values()]
}

function backendsOf(weighted: readonly WeightedBackend[], backends: Snapshot['backends']): readonly BackendNode[] {
  const whole = weighted.reduce((sum, { weight }) => sum + weight, 0)
  return weighted.map(({ backend: name, weight, policies }) => {
    const backend = backends[name]
    return {
      ...{ name, kind: backend?.kind ?? 'missing', share: whole === 0 ? 0 : weight / whole },
      address: backend === undefined ? null : addressOf(backend),
      policies: Object.keys({ ...backend?.policies, ...policies })
    }
  })
}

function addressOf(backend: Backend): string | null {
  const { host, port, unixPath } = backend as Backend & { host?: unknown; port?: unknown; unixPath?: unknown }
  if (typeof unixPath === 'string') return `unix:${unixPath}`
  return typeof host === 'string' && typeof port === 'number' ? `${host}:${port}` : null
}

/** "GET /cart/* with header x-team". Values may be keys: the names stand for them. */
export function matchText({ path, method, headers, query }: RouteMatch): string {
  const where =
    'exact' in path ? path.exact : 'prefix' in path ? `${path.prefix.replace(/\/$/, '')}/*` : `~ ${path.regex}`
  const more = [...headers.map(({ name }) => `header ${name}`), ...query.map(({ name }) => `parameter ${name}`)]
  return `${method === undefined ? '' : `${method} `}${where}${more.length === 0 ? '' : ` with ${more.join(', ')}`}`
}

/** Routes that have the text in a name, a host, a match, a policy or a backend; listeners without any are left out. */
export function searched(listeners: readonly ListenerNode[], text: string): readonly ListenerNode[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return listeners
  const has = (words: readonly string[]) => words.some((word) => word.toLowerCase().includes(wanted))
  return listeners.flatMap((listener) => {
    if (has([listener.name, listener.hostname, String(listener.port)])) return [listener]
    const routes = listener.routes.filter(({ name, hostnames, matches, policies, backends }) =>
      has([name, ...hostnames, ...matches, ...policies.map((one) => one.name), ...backends.map((one) => one.name)])
    )
    return routes.length === 0 ? [] : [{ ...listener, routes }]
  })
}

/** What the explanation says about a place of the graph. */
export type Mark = { readonly kind: 'hit' } | { readonly kind: 'miss'; readonly why: string | null } | null

/** The same configuration: null as long as nothing was explained. */
export function markOfListener(explanation: Explanation | null, { name, port }: ListenerNode): Mark {
  if (explanation === null) return null
  const { listener, otherListeners } = explanation
  if (listener?.name === name && listener.port === port) return { kind: 'hit' }
  return { kind: 'miss', why: otherListeners.find((other) => other.name === name)?.why ?? null }
}

export function markOfRoute(explanation: Explanation | null, listener: ListenerNode, route: RouteNode): Mark {
  if (explanation === null || markOfListener(explanation, listener)?.kind !== 'hit') return null
  if (explanation.route?.name === route.name) return { kind: 'hit' }
  return { kind: 'miss', why: explanation.otherRoutes.find(({ name }) => name === route.name)?.why ?? null }
}
