/** The file's `tcpRoutes`: where connections go whose bytes nobody reads. Schema, checks and translation. */
import type { Backend, TcpRouteSpec } from '#engine/ir/snapshot.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { cidr, hostname, target } from '#engine/schema/net.ts'
import { entriesOf, objectOf, type Path, text } from '#engine/schema/placed.ts'
import { list, name, refusedKeys, whole, z } from '#engine/schema/schema.ts'
import type { PlacedBind, PlacedListener, PlacedRoute } from './walk.ts'

const NAMES_MAX = 64
const ENTRIES_MAX = 10_000
const WEIGHT_MAX = 1_000_000

const LATER = ['backendTLS', 'backendTunnel', 'tls', 'tunnel']

const ofConnection = z
  .strictObject({
    proxyProtocol: z
      .enum(['v1', 'v2'])
      .optional()
      .describe('The backend is told who the client is: a PROXY header of this version before the first byte.')
  })
  .describe('Connections to the backend.')

const destination = oneOf(
  {
    host: target().optional().describe('"host:port", "[address]:port" or "unix:/path".'),
    backend: name().optional().describe('Name of one of the backends at the top of the file.'),
    dynamic: z
      .strictObject({
        allowAddresses: list(cidr(), 1, NAMES_MAX)
          .optional()
          .describe('Private, loopback, link-local and metadata addresses that may be reached nevertheless.'),
        ...refusedKeys('dynamic backend setting', ['target'])
      })
      .optional()
      .describe('Sends to the server that the client names (SNI), on the port of the listener. TLS only.'),
    ...refusedKeys('backend kind of a TCP route', ['ai', 'mcp', 'aws', 'internal', 'service'])
  },
  {
    weight: whole(0, WEIGHT_MAX).optional().describe('Share of the connections; 0 is none. Default 1.'),
    policies: z
      .strictObject({ tcp: ofConnection.optional(), ...refusedKeys('policy of a TCP backend', LATER) })
      .optional()
  }
)

export const tcpRouteSchema = z.strictObject({
  name: name().optional().describe('Default route0, route1, ... in the order of the listener.'),
  hostnames: list(hostname(), 0, ENTRIES_MAX)
    .optional()
    .describe('Server names (SNI) of TLS. Default: every name of the listener.'),
  backends: list(destination, 0, ENTRIES_MAX).optional(),
  policies: z
    .strictObject(refusedKeys('policy of a TCP route', LATER))
    .optional()
    .describe('Policies act on requests, and a TCP route has none.'),
  ...refusedKeys('TCP route setting', ['gateways', 'namespace', 'ruleName'])
})

export type FileTcpRoute = z.output<typeof tcpRouteSchema>

/** `own`: adds a backend that is written in place, and returns its name. */
export function translateTcpRoute(
  file: FileTcpRoute,
  routeName: string,
  own: (index: number, backend: Backend) => string
): TcpRouteSpec {
  return {
    name: routeName,
    hostnames: file.hostnames ?? [],
    backends: (file.backends ?? []).map(({ host, backend, dynamic, weight, policies }, i) => ({
      backend:
        backend ??
        own(
          i,
          host === undefined
            ? { kind: 'dynamic', allowAddresses: dynamic?.allowAddresses ?? [], policies: {} }
            : { kind: 'static', ...host, policies: {} }
        ),
      weight: weight ?? 1,
      policies: policies?.tcp === undefined ? {} : { tcp: policies.tcp }
    }))
  }
}

/** The TCP routes of a listener as read. */
export function tcpRoutesOf({ raw, path }: PlacedListener): PlacedRoute[] {
  return entriesOf(raw.tcpRoutes, [...path, 'tcpRoutes']).map((route, i) => ({
    ...route,
    name: text(route.raw.name) ?? `route${i}`
  }))
}

type Report = (path: Path, message: string, hint?: string, what?: 'key' | 'value') => void

/** What a protocol has and has not, and which listeners may share a port. */
export function checkProtocols(bind: PlacedBind, report: Report): void {
  for (const listener of bind.listeners) checkListener(listener, bind, report)
}

function checkListener(listener: PlacedListener, { listeners }: PlacedBind, report: Report): void {
  const { raw, path } = listener
  const siblings = listeners.length
  const protocol = text(raw.protocol) ?? 'HTTP'
  const passesOn = protocol === 'TCP' || protocol === 'TLS'
  const refuse = (key: string, message: string) => {
    if (raw[key] !== undefined) report([...path, key], message, undefined, 'key')
  }
  if (!passesOn) {
    refuse('tcpRoutes', `are for listeners of protocol TCP or TLS; this one has ${protocol}`)
    return
  }
  refuse('routes', `are for requests of HTTP: a listener of protocol ${protocol} has tcpRoutes`)
  refuse('policies', `act on requests of HTTP: a listener of protocol ${protocol} has none`)
  for (const key of ['paths', 'headersWithUnderscores']) {
    refuse(key, `is about requests of HTTP: a listener of protocol ${protocol} passes bytes on unread`)
  }
  if (protocol === 'TLS') {
    const message =
      'takes TLS on to the server that the client names: behind tls, which ends it, it would be clear text'
    if (raw.tls !== undefined) for (const route of tcpRoutesOf(listener)) refuseDynamic(route, message, report)
    return
  }
  if (raw.hostname !== '*') refuse('hostname', 'connections of plain TCP name no host: only TLS does')
  if (siblings > 1)
    report(
      [...path, 'protocol'],
      'a listener of protocol TCP takes every connection of its port: it must be the only one'
    )
  for (const route of tcpRoutesOf(listener)) checkPlain(route, report)
}

/** Without TLS nobody names a server. */
function checkPlain({ raw, path }: PlacedRoute, report: Report): void {
  if (Array.isArray(raw.hostnames) && raw.hostnames.length > 0)
    report([...path, 'hostnames'], 'connections of plain TCP name no host: only TLS does', undefined, 'key')
  refuseDynamic({ raw, path }, 'needs a server name (SNI), which only TLS has', report)
}

function refuseDynamic({ raw, path }: Pick<PlacedRoute, 'raw' | 'path'>, message: string, report: Report): void {
  for (const backend of entriesOf(raw.backends, [...path, 'backends']))
    if (objectOf(backend.raw).dynamic !== undefined) report([...backend.path, 'dynamic'], message, undefined, 'key')
}
