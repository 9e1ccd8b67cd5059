/** Host names that a listener and a route have in common (Gateway API, Hostname): "*" is every name. */

/** Whether all names that `inner` stands for are among those of `outer`. */
export function covers(outer: string, inner: string): boolean {
  if (outer === '*' || outer === inner) return true
  return outer.startsWith('*.') && inner.endsWith(outer.slice(1))
}

/**
 * Names for the route at the listener; empty: every name of the listener. Null: they have none in common, so the route
 * cannot be attached.
 */
export function commonHostnames(listener: string, route: readonly string[]): readonly string[] | null {
  if (route.length === 0) return []
  const common = route.flatMap((name) => (covers(listener, name) ? [name] : covers(name, listener) ? [listener] : []))
  return common.length === 0 ? null : [...new Set(common)]
}
