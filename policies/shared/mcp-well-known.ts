/**
 * Where mcpAuthentication answers besides the paths of a route (RFC 9728 section 3.1, RFC 8414 section 3.1): clients
 * ask there for metadata, with the path of the MCP endpoint behind it, and at the root.
 */

/** The last one at its root is the issuer's own, should the same host serve that too. */
const AT_ROOT = ['/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server']
const DOCUMENTS = [...AT_ROOT, '/.well-known/openid-configuration']

/** `paths`: of the route. */
export function wellKnownPrefixes(paths: readonly string[]): readonly string[] {
  // A prefix "/" has them already.
  if (paths.length === 0 || paths.includes('/')) return []
  const places = [...new Set(paths.map((path) => path.replace(/\/+$/, '')))]
  return [...AT_ROOT, ...DOCUMENTS.flatMap((document) => places.map((path) => document + path))]
}
