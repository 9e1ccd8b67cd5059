/**
 * Which trailers are forwarded (RFC 9110 section 6.5). A receiver that merges them into the header section would act on
 * fields that no check has seen, so they go only to receivers that asked for them, without fields that checks are
 * about.
 */
import { TRACE_HEADER } from './trace-header.ts'

/** What frames, routes, authenticates, conditions or caches a message, or says what its content is. */
const REFUSED = new Set([
  ...['content-length', 'transfer-encoding', 'host', 'connection', 'keep-alive', 'proxy-connection', 'upgrade'],
  ...['te', 'trailer', 'authorization', 'set-cookie', 'cookie', 'content-encoding', 'content-type', 'content-range'],
  ...['expect', 'max-forwards', 'cache-control', 'proxy-authorization', 'proxy-authenticate', 'www-authenticate'],
  ...[
    'authentication-info',
    'forwarded',
    'via',
    'if-match',
    'if-none-match',
    'if-modified-since',
    'if-unmodified-since'
  ],
  ...['if-range', 'range', 'pragma', 'age', 'date', 'expires', 'location', 'retry-after', 'vary', 'http2-settings'],
  ...['x-real-ip', 'x-original-url', 'x-rewrite-url', 'x-http-method-override', 'x-method-override', 'x-api-key'],
  ...['api-key', 'x-goog-api-key', 'x-auth-token', 'x-amz-security-token', 'mcp-session-id', 'proxy-status'],
  ...['set-cookie2', TRACE_HEADER]
])
const REFUSED_STARTS = ['x-forwarded-', 'access-control-', 'sec-', 'x-envoy-']

/** In lower case, with "-" for "_": what a server makes a variable of. */
function nameIn(line: string): string {
  return line
    .slice(0, Math.max(line.indexOf(':'), 0))
    .trim()
    .toLowerCase()
    .replaceAll('_', '-')
}

/** The lines that `keeps` says, of their name as nameIn has it. */
export function keptTrailers(lines: string, keeps: (name: string, line: string) => boolean): string {
  if (lines === '') return ''
  let out = ''
  for (const line of lines.split('\r\n')) {
    const name = nameIn(line)
    if (name !== '' && keeps(name, line)) out += `${line}\r\n`
  }
  return out
}

/** Trailer lines without the fields that must not be trailers (RFC 9110 section 6.5.1). */
export function safeTrailers(lines: string): string {
  return keptTrailers(lines, (name) => !REFUSED.has(name) && !REFUSED_STARTS.some((start) => name.startsWith(start)))
}
