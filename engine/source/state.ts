/** `config.state`: where budgets and keys are kept that must outlive the process, or that several replicas share. */
import type { StateServerSpec, StateSpec } from '#engine/contract/accounts.ts'
import { secret } from '#engine/kit/secret.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { longString, shortString, z } from '#engine/schema/schema.ts'

const TIMEOUT_MS = 1_000
const TIMEOUT_MS_MAX = 10_000
const PREFIX = 'weir'

const EXPECTED =
  'must be the URL of a server: redis://HOST:PORT/NUMBER, rediss://, valkey://, valkeys:// or postgres://HOST:PORT/DATABASE'

interface Scheme {
  readonly kind: StateServerSpec['kind']
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

type Address = Pick<StateServerSpec, 'kind' | 'host' | 'port' | 'database' | 'isTls'> & {
  readonly username: string | null
  readonly password: string | null
}

/** A text: it is wrong, and why. Nothing of the URL is in it, since it may have a password. */
function addressOf(text: string): Address | string {
  if (!URL.canParse(text)) return EXPECTED
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text)
  const scheme = SCHEMES[protocol]
  if (scheme === undefined || hostname === '' || hash !== '') return EXPECTED
  const tls = tlsOf(scheme, new URLSearchParams(search))
  if (typeof tls === 'string') return tls
  const database = pathname.replace(/^\//, '')
  if (scheme.kind === 'redis' && !/^\d{0,4}$/.test(database)) return 'must have the number of a database as its path'
  if (scheme.kind === 'postgres' && !/^[^/]+$/.test(database)) return 'must have the name of a database as its path'
  const plain = (encoded: string) => (encoded === '' ? null : decoded(encoded))
  return {
    kind: scheme.kind,
    // Of an IPv6 address without its brackets.
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

const url = () =>
  longString().transform((text, context): Address => {
    const address = addressOf(text)
    if (typeof address !== 'string') return address
    context.addIssue({ code: 'custom', message: address })
    return z.NEVER
  })

const ONLY_WITH_URL = ['username', 'password', 'root', 'prefix', 'timeout', 'failureMode'] as const

export const stateSchema = z
  .strictObject({
    path: longString().optional().describe('A folder of this process alone, on a disk of its own machine.'),
    fsync: z
      .enum(['always', 'everysec', 'no'])
      .optional()
      .describe(
        'What a loss of power may take; the end of the process alone takes nothing. always: nothing. ' +
          'everysec: the last second. no: what the system has not written by itself. Default everysec.'
      ),
    url: url()
      .optional()
      .describe(
        'Redis, Valkey or PostgreSQL: budgets, limits, concurrency and keys are those of all replicas with it.'
      ),
    username: shortString().optional().describe('For the server of url, if it does not stand there.'),
    password: longString().optional().describe('For the server of url: a variable ($NAME).'),
    root: longString().optional().describe('PEM: authorities of the server. Default: those that Node.js knows.'),
    prefix: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be a small letter, then up to 31 small letters, digits and _')
      .optional()
      .describe(
        'What keys of Redis begin with, or the schema of PostgreSQL. Replicas that share have the same. Default weir.'
      ),
    timeout: positiveDuration('must be longer than 0')
      .refine((ms) => ms <= TIMEOUT_MS_MAX, `must be at most ${TIMEOUT_MS_MAX / 1_000}s`)
      .optional()
      .describe('How long a call waits for the server. Default 1s.'),
    failureMode: z
      .enum(['closed', 'open'])
      .optional()
      .describe(
        'What becomes of calls of keys with budgets or limits while the server is away. closed: 503. open: they pass, ' +
          'and what they cost is kept in path until then. Default closed.'
      )
  })
  .refine(({ path, url: server }) => path !== undefined || server !== undefined, 'needs a path, a url or both')
  .refine(({ failureMode, path }) => failureMode !== 'open' || path !== undefined, {
    path: ['failureMode'],
    error: 'open needs path: what calls cost while the server is away is written down there'
  })
  .superRefine((input, context) => {
    const alone = ONLY_WITH_URL.find((name) => input[name] !== undefined)
    if (input.url === undefined && alone !== undefined)
      context.addIssue({ code: 'custom', path: [alone], message: 'is of the server of url, and there is none' })
    for (const name of ['username', 'password'] as const) {
      if (input[name] !== undefined && input.url?.[name] != null)
        context.addIssue({ code: 'custom', path: [name], message: 'stands in url already: write it once' })
    }
  })
  .describe('Where budgets and keys are kept that must outlive the process, or that replicas share.')

type Input = z.output<typeof stateSchema>

export function translateState(input: Input): StateSpec {
  const { path = null, fsync = 'everysec', url: address } = input
  return { path, fsync, server: address === undefined ? null : serverOf(address, input) }
}

function serverOf(address: Address, input: Input): StateServerSpec {
  const { username = address.username, password = address.password, root = null } = input
  return {
    ...address,
    username,
    password: password === null ? null : secret(password),
    root,
    prefix: input.prefix ?? PREFIX,
    isOpen: input.failureMode === 'open',
    timeoutMs: input.timeout ?? TIMEOUT_MS
  }
}
