/** Settings of `mcp` backends that have no effect. */
import { neverHasSessions } from '#backends/mcp/targets/index.ts'
import type { Doubt } from '#engine/contract/backend-config.ts'
import { entriesOf, objectOf, type Placed } from '#engine/schema/placed.ts'

/** `session.anonymous` where no target has a session that an anonymous client could get. */
export function uselessSessions(values: readonly Placed[]): Doubt[] {
  return values.flatMap(({ raw: mcp, path }) => {
    if (objectOf(mcp.session).anonymous === undefined) return []
    const routing = String(mcp.sessionRouting ?? mcp.statefulMode ?? '').toLowerCase()
    const why =
      routing === 'stateless'
        ? 'sessionRouting is Stateless'
        : entriesOf(mcp.targets, []).every(({ raw }) => neverHasSessions(raw))
          ? 'no target keeps sessions'
          : null
    return why === null ? [] : [{ path: [...path, 'session', 'anonymous'], message: `does nothing: ${why}` }]
  })
}
