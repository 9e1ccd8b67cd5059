/** Path and query of a request target; the query with its question mark, or ''. */
export function splitPath(target: string): [path: string, query: string] {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at)]
}
