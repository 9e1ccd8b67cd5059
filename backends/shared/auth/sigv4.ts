/**
 * AWS Signature Version 4 of a request, in its headers. Source: "Create a signed AWS API request" of the IAM user
 * guide. Signed are `host`, `content-type` and `x-amz-*`: what AWS demands, and nothing that a proxy on the way may
 * touch.
 */
import { createHash, createHmac } from 'node:crypto'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken: string | null
}

export interface SignableRequest {
  readonly method: string
  /** As it goes into the Host header. */
  readonly host: string
  /** As it goes on the wire, percent-encoded; without query. */
  readonly path: string
  /** As it goes on the wire, without "?"; "" when there is none. */
  readonly query: string
  /** Others than host, names in any case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** SHA-256 of the body in hex (`hashOf`), or "UNSIGNED-PAYLOAD" where the service takes that. */
  readonly payloadHash: string
}

/** The text that is signed is latin1, as header fields are: one character for each byte on the wire. */
export type Signer = (
  request: SignableRequest,
  credentials: Credentials,
  /** Milliseconds since 1970. AWS refuses what is more than five minutes off. */
  at: number
) => [name: string, value: string][]

const ALGORITHM = 'AWS4-HMAC-SHA256'

export function hashOf(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

/** Signs for one region and service ("bedrock"): tells the headers that the request needs besides its own. */
export function createSigner(region: string, service: string): Signer {
  const pathOf = service.startsWith('s3') ? keyPath : canonicalPath
  // Keys change with the day and with the credentials: the last one serves nearly every request.
  let known: { secret: string; day: string; key: Buffer } = { secret: '', day: '', key: Buffer.alloc(0) }
  const keyOf = (secret: string, day: string): Buffer => {
    if (known.secret !== secret || known.day !== day) {
      known = { secret, day, key: signingKey(secret, day, region, service) }
    }
    return known.key
  }
  return (request, credentials, at) => {
    const date = `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
    const day = date.slice(0, 8)
    const added: [string, string][] = [['x-amz-date', date]]
    if (credentials.sessionToken !== null) added.push(['x-amz-security-token', credentials.sessionToken])
    const { canonical, signedHeaders } = canonicalRequest(request, pathOf(request.path), added)
    const scope = `${day}/${region}/${service}/aws4_request`
    const signature = createHmac('sha256', keyOf(credentials.secretAccessKey, day))
      .update(`${ALGORITHM}\n${date}\n${scope}\n${createHash('sha256').update(canonical, 'latin1').digest('hex')}`)
      .digest('hex')
    const credential = `Credential=${credentials.accessKeyId}/${scope}`
    added.push(['authorization', `${ALGORITHM} ${credential}, SignedHeaders=${signedHeaders}, Signature=${signature}`])
    return added
  }
}

/** The key that signs for a day, region and service. `day`: "20150830". */
export function signingKey(secret: string, day: string, region: string, service: string): Buffer {
  let key: Buffer = Buffer.from(`AWS4${secret}`)
  for (const step of [day, region, service, 'aws4_request']) key = createHmac('sha256', key).update(step).digest()
  return key
}

function canonicalRequest(
  request: SignableRequest,
  path: string,
  added: readonly (readonly [string, string])[]
): { canonical: string; signedHeaders: string } {
  const values = new Map<string, string[]>([['host', [request.host]]])
  const replaced = new Set(['host', ...added.map(([name]) => name)])
  for (const [name, value] of [...request.headers, ...added]) {
    const lower = name.toLowerCase()
    if (lower !== 'content-type' && !lower.startsWith('x-amz-')) continue
    // What is added takes the place of what the client sent under that name.
    if (replaced.has(lower) && !added.some(([own]) => own === name)) continue
    const list = values.get(lower)
    if (list === undefined) values.set(lower, [value])
    else list.push(value)
  }
  const names = [...values.keys()].sort()
  const lines = names.map((name) => `${name}:${values.get(name)!.map(trimmed).join(',')}\n`).join('')
  const signedHeaders = names.join(';')
  const query = canonicalQuery(request.query)
  const canonical = `${request.method}\n${path}\n${query}\n${lines}\n${signedHeaders}\n${request.payloadHash}`
  return { canonical, signedHeaders }
}

function trimmed(value: string): string {
  return value.trim().replaceAll(/\s+/g, ' ')
}

/** Of S3, where dots and slashes may be part of a key: as on the wire, with all but unreserved characters encoded. */
function keyPath(path: string): string {
  return path.replaceAll(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/-]/g, (text) => {
    if (text.length < 3) return encoded(text)
    const char = String.fromCharCode(Number.parseInt(text.slice(1), 16))
    return /[A-Za-z0-9._~-]/.test(char) ? char : text.toUpperCase()
  })
}

/** Dot segments and empty ones resolved, then encoded once more than on the wire, as all services but S3 want it. */
function canonicalPath(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(encoded(segment))
  }
  const tail = segments.length > 0 && path.endsWith('/') ? '/' : ''
  return `/${segments.join('/')}${tail}`
}

function canonicalQuery(query: string): string {
  if (query === '') return ''
  const pairs = query.split('&').filter((pair) => pair !== '')
  const encodedPairs = pairs.map((pair) => {
    const at = pair.indexOf('=')
    const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
    return [encoded(decoded(name)), encoded(decoded(value))] as const
  })
  encodedPairs.sort(([a, x], [b, y]) => order(a, b) || order(x, y))
  return encodedPairs.map(([name, value]) => `${name}=${value}`).join('&')
}

function order(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** A text with broken escapes stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** RFC 3986: all but unreserved characters. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  )
}
