/** The command line of `weir explain`. */

/** The request of `weir explain`, as it was typed. */
export interface TypedRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Text, or "@" and the path of a file; null: no body. */
  readonly data: string | null
  readonly from: string | undefined
  /** As `httpVersion` of POST /explain; undefined: as clients do. */
  readonly httpVersion: string | undefined
  /** Path of a file in PEM. */
  readonly cert: string | undefined
}

/** Of `weir explain`; -H, -d, -E and the versions of HTTP as curl has them. */
export const EXPLAIN_OPTIONS = {
  request: { type: 'string', short: 'r' },
  header: { type: 'string', short: 'H', multiple: true },
  data: { type: 'string', short: 'd' },
  from: { type: 'string' },
  cert: { type: 'string', short: 'E' },
  'http1.1': { type: 'boolean' },
  http2: { type: 'boolean' },
  'http2-prior-knowledge': { type: 'boolean' },
  json: { type: 'boolean' },
  file: { type: 'string', short: 'f', multiple: true },
  config: { type: 'string', short: 'c', multiple: true },
  help: { type: 'boolean', short: 'h' }
} as const

export const EXPLAIN_HELP = `weir explain: what would become of a request; nothing is sent, asked or taken

Usage:
  weir explain -r 'GET http://host:8080/path' -f FILE

Options:
  -r, --request REQUEST     method and URL; the port of the URL chooses the bind
  -H, --header HEADER       'Name: value', any number of times
  -d, --data TEXT           body, or @FILE
      --from IP             of the client; default 127.0.0.1
  -E, --cert FILE           certificate that the client shows, PEM; its key is not needed
      --http1.1             what the client speaks: HTTP/1.1; the default of http://
      --http2               HTTP/2 too, if the listener agrees (ALPN); the default of https://
      --http2-prior-knowledge  HTTP/2 alone, also over http://
      --json                for programs
  -f, --file FILE           configuration file, or manifests, any number of times
  -c, --config STRING       configuration text
  -h, --help                print this

Exit codes:
  0  it would be served     1  it would be refused
  2  wrong usage            3  invalid configuration, or it cannot be read
`

const REQUEST_EXAMPLE = "-r 'GET http://host:8080/path'"
/** "GET http://host/", or the URL alone. */
const REQUEST = /^(?:(\S+) +)?(\S+)$/
/** Options to what POST /explain calls them. */
const VERSIONS = { 'http1.1': '1.1', http2: '2', 'http2-prior-knowledge': '2-prior-knowledge' } as const
const HEADER = /^([^:\s]+):[ \t]*(.*)$/s

/** A text says what is wrong. */
export function readExplainRequest(values: Record<string, unknown>): TypedRequest | string {
  const { request, data = null, from, cert } = values as Partial<Record<'request' | 'data' | 'from' | 'cert', string>>
  const [, method, url] = REQUEST.exec(request?.trim() ?? '') ?? []
  if (request === undefined) return `explain needs a request: ${REQUEST_EXAMPLE}`
  if (url === undefined) return `a request is a method, which may be left out, and a URL: ${REQUEST_EXAMPLE}`
  const headers = ((values.header ?? []) as string[]).map((text) => HEADER.exec(text))
  if (headers.includes(null)) return "a header is written -H 'Name: value'"
  const versions = Object.entries(VERSIONS).filter(([option]) => values[option] === true)
  if (versions.length > 1) return `a client speaks one of ${versions.map(([name]) => `--${name}`).join(', ')}`
  return {
    method: method ?? (data === null ? 'GET' : 'POST'),
    url,
    headers: headers.map((parts): [string, string] => [parts![1]!, parts![2]!]),
    data,
    from,
    httpVersion: versions[0]?.[1],
    cert
  }
}
