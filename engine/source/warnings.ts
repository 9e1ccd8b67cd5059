/** What is allowed and yet probably not meant. */

import type { Policy } from '#engine/contract/policy.ts'
import { objectOf, type Placed, policySetsOf, type Raw, text } from '#engine/schema/placed.ts'
import { backendDoubts } from './backend-policies.ts'
import { httpSetting } from './frontend.ts'
import type { Kinds } from './kinds.ts'
import { underscoreWarnings } from './reach.ts'
import { type ConfigTree, type Finding, listenersOf, routesOf } from './tree.ts'

/** For a configuration without mistakes. */
export function warningsOf(tree: ConfigTree, kinds: Kinds, policies: readonly Policy[]): Finding[] {
  const { binds, top, words } = tree
  const warnings: Finding[] = []
  if (binds.length === 0) {
    warnings.push({ path: [], message: `the ${words.noun} has no binds: nothing is served`, at: 'value' })
  }
  for (const { transport, path } of binds) {
    const { warning: message } = transport
    if (message !== null) warnings.push({ path: [...path, 'transport'], message, at: 'value' })
  }
  const answering = policies.filter(({ answersAll }) => answersAll).map(({ name }) => name)
  for (const doubt of backendDoubts(tree, kinds)) warnings.push({ ...doubt, at: 'key' })
  warnings.push(...loops(tree), ...underscoreWarnings(tree), ...bufferTooSmall(top.raw))
  for (const listener of listenersOf(tree)) {
    const outer = text(listener.raw.hostname) ?? '*'
    for (const route of listener.routes) {
      warnings.push(...stars(route), ...answered(route, answering))
      const hostnames = Array.isArray(route.raw.hostnames) ? route.raw.hostnames : []
      hostnames.forEach((inner: unknown, i) => {
        if (typeof inner !== 'string' || overlap(outer.toLowerCase(), inner.toLowerCase())) return
        const path = [...route.path, 'hostnames', i]
        const message = `"${inner}" is never a host of this listener, which serves "${outer}"`
        warnings.push({ path, message, at: 'value' })
      })
    }
  }
  return warnings
}

/** One body that may be kept, and does not fit. */
function bufferTooSmall(top: Raw): Finding[] {
  const all = objectOf(top.config).maxBufferedBytes
  const one = httpSetting(objectOf(objectOf(top.frontendPolicies).http), 'maxBufferSize')
  if (typeof all !== 'number' || typeof one !== 'number' || one <= all) return []
  const path = ['config', 'maxBufferedBytes']
  const message = `is less than maxBufferSize (${one}): a body of more than ${all} bytes is refused with 413 all the same`
  return [{ path, message, at: 'value' }]
}

const OWN_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)$/i

/** A backend that is one of our own ports: a request that comes back the way it went out goes on without end. */
function loops(tree: ConfigTree): Finding[] {
  const ports = new Set(tree.binds.map(({ raw }) => Number(raw.port)))
  const places = [...tree.backends, ...routesOf(tree).flatMap(({ references }) => references)]
  return places.flatMap(({ raw, path }) => {
    const port = OWN_HOST.exec(text(raw.host) ?? '')?.[1]
    if (port === undefined || !ports.has(Number(port))) return []
    const own = `is port ${port} of this ${tree.words.noun} itself`
    const message = `${own}: a route that leads back to itself is asked without end`
    return [{ path: [...path, 'host'], message, at: 'value' }]
  })
}

/** Other gateways' files end a prefix with a star, which is a character of the path here. */
function stars({ raw, path }: Placed): Finding[] {
  const matches: unknown[] = Array.isArray(raw.matches) ? raw.matches : []
  return matches.flatMap((match, i) => {
    const prefix = text(objectOf(objectOf(match).path).pathPrefix)
    if (prefix === undefined || !prefix.endsWith('*')) return []
    const place = [...path, 'matches', i, 'path', 'pathPrefix']
    const message = 'the star is taken literally: a prefix covers what is below it without one'
    return [{ path: place, message, at: 'value' }]
  })
}

/** A policy of the route that answers every request leaves nothing for its backends. */
function answered(route: Placed, answering: readonly string[]): Finding[] {
  if (!Array.isArray(route.raw.backends) || route.raw.backends.length === 0) return []
  const path = [...route.path, 'backends']
  const policies = policySetsOf(route).flatMap(({ raw }) => answering.filter((name) => raw[name] !== undefined))
  return policies.slice(0, 1).map((name) => {
    return { path, at: 'key', message: `are never asked: ${name} answers every request` }
  })
}

/** Whether some host is covered by both. */
export function overlap(a: string, b: string): boolean {
  return a === '*' || b === '*' || a === b || covers(a, b) || covers(b, a)
}

/** Whether the wildcard covers the name, or all of the narrower wildcard. */
function covers(wildcard: string, name: string): boolean {
  return wildcard.startsWith('*.') && name.endsWith(wildcard.slice(1)) && name !== wildcard.slice(1)
}
