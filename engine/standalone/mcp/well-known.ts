/**
 * Where mcpAuthentication answers besides the paths of a route (RFC 9728 section 3.1, RFC 8414 section 3.1): clients
 * ask there for metadata, with the path of the MCP endpoint behind it, and at the root.
 */
import type { PolicySet, RouteMatch } from '#engine/ir/snapshot.ts'

/** The last one at its root is the issuer's own, should the same host serve that too. */
const AT_ROOT = ['/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server']
const DOCUMENTS = [...AT_ROOT, '/.well-known/openid-configuration']

/** `levels`: policies that act on the route. */
export function withWellKnown(matches: readonly RouteMatch[], levels: readonly PolicySet[]): readonly RouteMatch[] {
  if (!levels.some(({ mcpAuthentication }) => mcpAuthentication !== undefined)) return matches
  const paths = matches.flatMap(({ path }) => ('regex' in path ? [] : ['exact' in path ? path.exact : path.prefix]))
  // A prefix "/" has them already.
  if (paths.length === 0 || paths.includes('/')) return matches
  const places = [...new Set(paths.map((path) => path.replace(/\/+$/, '')))]
  const prefixes = [...AT_ROOT, ...DOCUMENTS.flatMap((document) => places.map((path) => document + path))]
  return [...matches, ...prefixes.map((prefix): RouteMatch => ({ path: { prefix }, headers: [], query: [] }))]
}
