/** Policies about requests on backends that only get connections of tcpRoutes: nothing would read them. */
import { entriesOf, objectOf, policySetsOf, type Raw, text } from '#engine/schema/placed.ts'
import { resiliencePolicies } from '#engine/upstream/policies/index.ts'
import { tcpRoutesOf } from './tcp-routes.ts'
import { type ConfigTree, type Finding, listenersOf, routesOf } from './tree.ts'

const MESSAGE = 'acts on requests, and tcpRoutes pass connections on unread: remove it, or use the backend in routes'

export function checkTcpBackends(tree: ConfigTree): Finding[] {
  const { top, backends, shortcuts } = tree
  const routes = listenersOf(tree).flatMap(tcpRoutesOf)
  if (routes.length === 0) return []
  const references = routes.flatMap(({ raw, path }) => entriesOf(raw.backends, [...path, 'backends']))
  const named = new Set(references.map(({ raw }) => text(raw.backend)))
  const elsewhere = wordsBesideTcp(top.raw)
  const isForTcp = (name: string | undefined) => name !== undefined && named.has(name) && !elsewhere.has(name)
  const unread = backends.filter(({ raw }) => isForTcp(text(raw.name)))
  const isAll = unread.length > 0 && unread.length === backends.length
  const hasRequests = shortcuts.length > 0 || routesOf(tree).length > 0
  const places = isAll && !hasRequests ? [top, ...unread] : unread
  return places.flatMap(policySetsOf).flatMap(({ raw, path }) =>
    Object.keys(resiliencePolicies.keys)
      .filter((key) => raw[key] !== undefined)
      .map((key) => ({ path: [...path, key], message: MESSAGE, at: 'key' as const }))
  )
}

/** All text of a configuration but its tcpRoutes and the names that backends have: what may name one of them. */
function wordsBesideTcp(config: Raw): ReadonlySet<string> {
  const words = new Set<string>()
  const add = (value: unknown): void => {
    if (typeof value === 'string') words.add(value)
    else if (Array.isArray(value)) value.forEach(add)
    else for (const [key, inner] of Object.entries(objectOf(value))) if (key !== 'tcpRoutes') add(inner)
  }
  const { backends, ...others } = config
  add(others)
  for (const { raw } of entriesOf(backends, [])) add({ ...raw, name: undefined })
  return words
}
