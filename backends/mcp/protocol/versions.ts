/** Revisions of MCP with sessions, oldest first (modelcontextprotocol.io/specification). */
export const REVISIONS: readonly string[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']

/** That of a request over HTTP that does not say (2025-11-25, transports, Protocol Version Header). */
export const REVISION_UNSAID = '2025-03-26'

/** Dates, so that the order of texts is that of time. */
export const older = (a: string, b: string): string => (a < b ? a : b)
