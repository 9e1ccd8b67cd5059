/** What is allowed and yet probably not meant. */

import type { Policy } from '#engine/contract/policy.ts'
import { objectOf, type Placed, policySetsOf, type Raw, text } from '#engine/schema/placed.ts'
import { backendDoubts } from '#engine/source/backend-policies.ts'
import type { Kinds } from '#engine/source/kinds.ts'
import { type ConfigTree, listenersOf, routesOf } from '#engine/source/tree.ts'
import { httpSetting } from './file-frontend.ts'
import type { Problem } from './problems.ts'
import { underscoreWarnings } from './reach.ts'
import type { Source } from './source.ts'

interface Registries {
  readonly policies: readonly Policy[]
  readonly kinds: Kinds
}

/** For a file without mistakes. */
export function warningsOf(tree: ConfigTree, source: Source, { policies, kinds }: Registries): Problem[] {
  const { raw: file } = tree.top
  const warnings: Problem[] = source.warnings.map((warning) => ({ path: [], ...warning }))
  const { binds } = tree
  if (binds.length === 0) warnings.push({ path: [], offset: 0, message: 'the file has no binds: nothing is served' })
  for (const { transport, path } of binds) {
    const { warning } = transport
    if (warning === null) continue
    const place = [...path, 'transport']
    warnings.push({ path: place, offset: source.locate(place, 'value'), message: warning })
  }
  const listeners = listenersOf(tree)
  const answering = policies.filter(({ answersAll }) => answersAll).map(({ name }) => name)
  for (const { path, message } of backendDoubts(tree, kinds)) {
    warnings.push({ path, offset: source.locate(path, 'key'), message })
  }
  warnings.push(...loops(tree, source), ...underscoreWarnings(tree, source))
  warnings.push(...bufferTooSmall(file, source))
  for (const listener of listeners) {
    const outer = text(listener.raw.hostname) ?? '*'
    for (const route of listener.routes) {
      warnings.push(...stars(route, source), ...answered(route, answering, source))
      const hostnames = Array.isArray(route.raw.hostnames) ? route.raw.hostnames : []
      hostnames.forEach((inner: unknown, i) => {
        if (typeof inner !== 'string' || overlap(outer.toLowerCase(), inner.toLowerCase())) return
        const path = [...route.path, 'hostnames', i]
        const message = `"${inner}" is never a host of this listener, which serves "${outer}"`
        warnings.push({ path, offset: source.locate(path, 'value'), message })
      })
    }
  }
  return warnings
}

/** One body that may be kept, and does not fit. */
function bufferTooSmall(file: Raw, source: Source): Problem[] {
  const all = objectOf(file.config).maxBufferedBytes
  const one = httpSetting(objectOf(objectOf(file.frontendPolicies).http), 'maxBufferSize')
  if (typeof all !== 'number' || typeof one !== 'number' || one <= all) return []
  const path = ['config', 'maxBufferedBytes']
  const message = `is less than maxBufferSize (${one}): a body of more than ${all} bytes is refused with 413 all the same`
  return [{ path, offset: source.locate(path, 'value'), message }]
}

const OWN_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)$/i

/** A backend that is one of our own ports: a request that comes back the way it went out goes on without end. */
function loops(tree: ConfigTree, source: Source): Problem[] {
  const ports = new Set(tree.binds.map(({ raw }) => Number(raw.port)))
  const places = [...tree.backends, ...routesOf(tree).flatMap(({ references }) => references)]
  return places.flatMap(({ raw, path }) => {
    const port = OWN_HOST.exec(text(raw.host) ?? '')?.[1]
    if (port === undefined || !ports.has(Number(port))) return []
    const place = [...path, 'host']
    const message = `is port ${port} of this file itself: a route that leads back to itself is asked without end`
    return [{ path: place, offset: source.locate(place, 'value'), message }]
  })
}

/** Other gateways' files end a prefix with a star, which is a character of the path here. */
function stars({ raw, path }: Placed, source: Source): Problem[] {
  const matches: unknown[] = Array.isArray(raw.matches) ? raw.matches : []
  return matches.flatMap((match, i) => {
    const given = text(objectOf(objectOf(match).path).pathPrefix)
    if (given === undefined || !given.endsWith('*')) return []
    const place = [...path, 'matches', i, 'path', 'pathPrefix']
    const message = 'the star is taken literally: a prefix covers what is below it without one'
    return [{ path: place, offset: source.locate(place, 'value'), message }]
  })
}

/** A policy of the route that answers every request leaves nothing for its backends. */
function answered(route: Placed, answering: readonly string[], source: Source): Problem[] {
  if (!Array.isArray(route.raw.backends) || route.raw.backends.length === 0) return []
  const path = [...route.path, 'backends']
  const policies = policySetsOf(route).flatMap(({ raw }) => answering.filter((name) => raw[name] !== undefined))
  return policies.slice(0, 1).map((name) => {
    return { path, offset: source.locate(path, 'key'), message: `are never asked: ${name} answers every request` }
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
