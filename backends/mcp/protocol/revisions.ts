/**
 * The revisions of MCP, and the two eras that they belong to (2026-07-28, basic/versioning: "modern" and "legacy").
 * Stateful: a conversation begins with `initialize`. Stateless: each request describes its client by itself.
 */

export type Era = 'stateful' | 'stateless'

/** Oldest first: as text they are in the order of time. */
const STATEFUL_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

export const NEWEST_STATEFUL = '2025-11-25'
export const STATELESS = '2026-07-28'

/** What the gateway speaks, newest first: `supportedVersions` of discovery, `supported` of a refusal. */
export const SUPPORTED_VERSIONS: readonly string[] = [STATELESS, ...STATEFUL_REVISIONS.toReversed()]

/** The stateful ones, newest first. */
export const HANDSHAKE_VERSIONS: readonly string[] = STATEFUL_REVISIONS.toReversed()

const ERAS: ReadonlyMap<string, Era> = new Map<string, Era>([
  ...STATEFUL_REVISIONS.map((revision): [string, Era] => [revision, 'stateful']),
  [STATELESS, 'stateless']
])

/** The era of a revision that the gateway speaks; null: it does not speak it. */
export function eraOf(version: string): Era | null {
  return ERAS.get(version) ?? null
}

/** The revision in the answer to `initialize` (2025-11-25, basic/lifecycle): the requested one, or the newest. */
export function agreedVersion(requested: unknown): string {
  return typeof requested === 'string' && eraOf(requested) === 'stateful' ? requested : NEWEST_STATEFUL
}

/** Whether `version`, in the form of a date, is of the stateless era: newer ones are, whatever they are. */
export function isStatelessDate(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= STATELESS
}

/** Stands for the session id of a stateless server, which has none: visible ASCII, and no server's id. */
export const BRIDGED = 'weir:stateless'

/** Revision of an HTTP request without MCP-Protocol-Version (2025-11-25, transports, Protocol Version Header). */
export const UNVERSIONED_REVISION = '2025-03-26'
