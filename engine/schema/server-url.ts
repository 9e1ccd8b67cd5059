/** URLs of servers that keep something for the gateway: Redis, Valkey, PostgreSQL. */
import { longString, z } from './schema.ts'

export type ServerKind = 'redis' | 'postgres'

interface Scheme {
  readonly kind: ServerKind
  readonly port: number
  readonly isTls: boolean
}

const SCHEMES: Readonly<Record<string, Scheme>> = {
  'redis:': { kind: 'redis', port: 6379, isTls: false },
  'rediss:': { kind: 'redis', port: 6379, isTls: true },
  'valkey:': { kind: 'redis', port: 6379, isTls: false },
  'valkeys:': { kind: 'redis', port: 6379, isTls: true },
  'postgres:': { kind: 'postgres', port: 5432, isTls: false },
  'postgresql:': { kind: 'postgres', port: 5432, isTls: false }
}

const REDIS = 'redis://HOST:PORT/NUMBER, rediss://, valkey://, valkeys://'
const EXPECTED: Readonly<Record<'redis' | 'any', string>> = {
  redis: `must be the URL of a server: ${REDIS}`,
  any: `must be the URL of a server: ${REDIS} or postgres://HOST:PORT/DATABASE`
}

/** As clients of Redis spell it: redis+sentinel://, redis-sentinel://, sentinel://. */
const SENTINEL = /^(?:(?:redis|valkey)s?[+-])?sentinels?:$/
const NO_SENTINEL =
  'is that of a Sentinel, which is not asked: give the URL of a name that follows the primary, as redis://HOST:PORT/NUMBER'

export interface ServerAddress {
  readonly kind: ServerKind
  /** Of an IPv6 address without brackets. */
  readonly host: string
  readonly port: number
  /** Of Redis a number. */
  readonly database: string
  readonly isTls: boolean
  readonly username: string | null
  readonly password: string | null
}

/** `only`: which kinds do. Nothing of the URL is in a message, since it may have a password. */
export const serverUrl = (only: keyof typeof EXPECTED) =>
  longString().transform((text, context): ServerAddress => {
    const address = addressOf(text)
    if (address !== null && typeof address !== 'string' && (only === 'any' || address.kind === only)) return address
    context.addIssue({ code: 'custom', message: typeof address === 'string' ? address : EXPECTED[only] })
    return z.NEVER
  })

interface ServerSettings {
  readonly url?: ServerAddress | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
}

/** Of an object with `url`: its fields `onlyWithUrl` need it, and what stands in it stands nowhere else. */
export const checkServer =
  <K extends string>(onlyWithUrl: readonly K[]) =>
  (input: ServerSettings & { readonly [name in K]?: unknown }, context: z.RefinementCtx): void => {
    const alone = onlyWithUrl.find((name) => input[name] !== undefined)
    if (input.url === undefined && alone !== undefined)
      context.addIssue({ code: 'custom', path: [alone], message: 'is of the server of url, and there is none' })
    for (const name of ['username', 'password'] as const) {
      if (input[name] !== undefined && input.url?.[name] != null)
        context.addIssue({ code: 'custom', path: [name], message: 'stands in url already: write it once' })
    }
  }

/** A text: it is wrong, and why. Null: it is none. */
function addressOf(text: string): ServerAddress | string | null {
  if (!URL.canParse(text)) return null
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text)
  if (SENTINEL.test(protocol)) return NO_SENTINEL
  const scheme = SCHEMES[protocol]
  if (scheme === undefined || hostname === '' || hash !== '') return null
  const tls = tlsOf(scheme, new URLSearchParams(search))
  if (typeof tls === 'string') return tls
  const database = pathname.replace(/^\//, '')
  if (scheme.kind === 'redis' && !/^\d{0,4}$/.test(database)) return 'must have the number of a database as its path'
  if (scheme.kind === 'postgres' && !/^[^/]+$/.test(database)) return 'must have the name of a database as its path'
  const plain = (encoded: string) => (encoded === '' ? null : decoded(encoded))
  return {
    kind: scheme.kind,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? scheme.port : Number(port),
    database: scheme.kind === 'redis' ? database || '0' : decoded(database),
    isTls: tls,
    username: plain(username),
    password: plain(password)
  }
}

/** sslmode is what PostgreSQL's own clients call it; there is no mode that encrypts for anybody. */
function tlsOf({ kind, isTls }: Scheme, query: URLSearchParams): boolean | string {
  const names = [...query.keys()]
  if (kind === 'redis') return names.length === 0 ? isTls : 'must have no query'
  const mode = query.get('sslmode') ?? 'disable'
  if (names.some((name) => name !== 'sslmode')) return 'may have sslmode as its query, and nothing else'
  if (mode === 'disable' || mode === 'verify-full') return mode === 'verify-full'
  return 'may say sslmode=disable (the default) or sslmode=verify-full: other modes take any certificate'
}

/** Percent signs that encode nothing stand for themselves. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
