/**
 * Where mcpAuthentication answers besides the paths of a route (RFC 9728 section 3.1, RFC 8414 section 3.1): clients
 * ask there for metadata, with the path of the MCP endpoint behind it, and at the root.
 */
import type { PolicySet, RouteMatch } from '#engine/ir/snapshot.ts'

const DOCUMENTS = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration'
]

/** `levels`: policies that act on the route. */
export function withWellKnown(matches: readonly RouteMatch[], levels: readonly PolicySet[]): readonly RouteMatch[] {
  if (!levels.some(({ mcpAuthentication }) => mcpAuthentication !== undefined)) return matches
  const paths = matches.flatMap(({ path }) => ('regex' in path ? [] : ['exact' in path ? path.exact : path.prefix]))
  // A prefix "/" has them already.
  if (paths.length === 0 || paths.includes('/')) return matches
  const places = new Set(['', ...paths.map((path) => path.replace(/\/+$/, ''))])
  const more = DOCUMENTS.flatMap((document) =>
    [...places].map((path): RouteMatch => ({ path: { prefix: document + path }, headers: [], query: [] }))
  )
  return [...matches, ...more]
}
