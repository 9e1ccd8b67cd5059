/** What is said of `mcp` backends and does nothing. */
import { entriesOf, objectOf, type Path, type Placed, type Raw } from '#engine/schema/placed.ts'

interface Doubt {
  readonly path: Path
  readonly message: string
}

/** `session.anonymous` where no target has a session that an anonymous client could get. */
export function uselessSessions(file: Raw, routes: readonly Placed[]): Doubt[] {
  const holders = [...entriesOf(file.backends, ['backends']), { raw: file, path: [] }]
  for (const { raw, path } of routes) holders.push(...entriesOf(raw.backends, [...path, 'backends']))
  return holders.flatMap((holder) => {
    const mcp = objectOf(holder.raw.mcp)
    if (objectOf(mcp.session).anonymous === undefined) return []
    const routing = String(mcp.sessionRouting ?? mcp.statefulMode ?? '').toLowerCase()
    const why =
      routing === 'stateless'
        ? 'sessionRouting is Stateless'
        : entriesOf(mcp.targets, []).every(({ raw }) => raw.openapi !== undefined)
          ? 'no target keeps sessions'
          : null
    if (why === null) return []
    return [{ path: [...holder.path, 'mcp', 'session', 'anonymous'], message: `does nothing: ${why}` }]
  })
}
