/** `tcpRoutes`: routes of connections that are passed on unread. Schema, checks and translation. */

import type { TcpRouteSpec } from '#engine/ir/snapshot.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { hostname } from '#engine/schema/net.ts'
import { entriesOf, type Path, type Placed, text } from '#engine/schema/placed.ts'
import { fullName, list, refusedKeys, whole, z } from '#engine/schema/schema.ts'
import { keysOf, withName } from './backend-keys.ts'
import type { Kinds } from './kinds.ts'
import type { PlacedBind, PlacedListener } from './tree.ts'

const _NAMES_MAX = 64
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

const destination = (kinds: Kinds) => {
  const refused = kinds.keys.filter(({ isNamedOnly, tcpSchema }) => !isNamedOnly && tcpSchema === undefined)
  const names = [...refused.map((key) => key.name), 'aws', 'internal', 'service']
  return oneOf(
    { ...withName(keysOf(kinds, ({ tcpSchema }) => tcpSchema)), ...refusedKeys('backend kind of a TCP route', names) },
    {
      weight: whole(0, WEIGHT_MAX).optional().describe('Share of the connections; 0 is none. Default 1.'),
      policies: z
        .strictObject({ tcp: ofConnection.optional(), ...refusedKeys('policy of a TCP backend', LATER) })
        .optional()
    }
  )
}

export const tcpRouteSchema = (kinds: Kinds) =>
  z.strictObject({
    name: fullName().optional().describe('Default route0, route1, ... in the order of the listener.'),
    hostnames: list(hostname(), 0, ENTRIES_MAX)
      .optional()
      .describe('Server names (SNI) of TLS. Default: every name of the listener.'),
    backends: list(destination(kinds), 0, ENTRIES_MAX).optional(),
    policies: z
      .strictObject(refusedKeys('policy of a TCP route', LATER))
      .optional()
      .describe('Policies act on requests, and a TCP route has none.'),
    ...refusedKeys('TCP route setting', ['gateways', 'namespace', 'ruleName'])
  })

export type TcpRouteInput = z.output<ReturnType<typeof tcpRouteSchema>>

/** `own`: adds a backend that is written in place, and returns its name. */
export function translateTcpRoute(
  input: TcpRouteInput,
  routeName: string,
  own: (index: number, reference: Readonly<Record<string, unknown>>) => string
): TcpRouteSpec {
  return {
    name: routeName,
    hostnames: input.hostnames ?? [],
    backends: (input.backends ?? []).map((reference, i) => {
      const { backend, weight, policies } = reference as TcpReferenceInput
      return {
        backend: backend ?? own(i, reference),
        weight: weight ?? 1,
        policies: policies?.tcp === undefined ? {} : { tcp: policies.tcp }
      }
    })
  }
}

interface TcpReferenceInput {
  readonly backend?: string | undefined
  readonly weight?: number | undefined
  readonly policies?: { readonly tcp?: z.output<typeof ofConnection> | undefined } | undefined
}

/** The TCP routes of a listener as read. */
export function tcpRoutesOf({ raw, path }: PlacedListener): (Placed & { readonly name: string })[] {
  return entriesOf(raw.tcpRoutes, [...path, 'tcpRoutes']).map((route, i) => ({
    ...route,
    name: text(route.raw.name) ?? `route${i}`
  }))
}

type Report = (path: Path, message: string, hint?: string, what?: 'key' | 'value') => void

/** What a protocol has and has not, and which listeners may share a port. */
export function checkProtocols(bind: PlacedBind, kinds: Kinds, report: Report): void {
  for (const listener of bind.listeners) checkListener(listener, bind, kinds, report)
}

function checkListener(listener: PlacedListener, { listeners }: PlacedBind, kinds: Kinds, report: Report): void {
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
    if (raw.tls !== undefined) for (const route of tcpRoutesOf(listener)) refuseUnnamed(route, message, kinds, report)
    return
  }
  if (raw.hostname !== '*') refuse('hostname', 'connections of plain TCP name no host: only TLS does')
  if (siblings > 1)
    report(
      [...path, 'protocol'],
      'a listener of protocol TCP takes every connection of its port: it must be the only one'
    )
  for (const route of tcpRoutesOf(listener)) checkPlain(route, kinds, report)
}

/** Without TLS there is no server name. */
function checkPlain({ raw, path }: Placed, kinds: Kinds, report: Report): void {
  if (Array.isArray(raw.hostnames) && raw.hostnames.length > 0)
    report([...path, 'hostnames'], 'connections of plain TCP name no host: only TLS does', undefined, 'key')
  refuseUnnamed({ raw, path }, 'needs a server name (SNI), which only TLS has', kinds, report)
}

function refuseUnnamed({ raw, path }: Placed, message: string, kinds: Kinds, report: Report): void {
  const keys = kinds.keys.filter(({ needsServerName }) => needsServerName)
  for (const backend of entriesOf(raw.backends, [...path, 'backends']))
    for (const { name: key } of keys)
      if (backend.raw[key] !== undefined) report([...backend.path, key], message, undefined, 'key')
}
