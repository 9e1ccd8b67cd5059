/** `config.state`: where budgets and keys are kept that must outlive the process, or that several replicas share. */
import type { StateServerSpec, StateSpec } from '#engine/contract/accounts.ts'
import { secret } from '#engine/kit/secret.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { longString, shortString, z } from '#engine/schema/schema.ts'
import { checkServer, type ServerAddress, serverUrl } from '#engine/schema/server-url.ts'

const TIMEOUT_MS = 1_000
const TIMEOUT_MS_MAX = 10_000
const PREFIX = 'weir'

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
    url: serverUrl('any')
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
  .superRefine(checkServer(ONLY_WITH_URL))
  .describe('Where budgets and keys are kept that must outlive the process, or that replicas share.')

type Input = z.output<typeof stateSchema>

export function translateState(input: Input): StateSpec {
  const { path = null, fsync = 'everysec', url: address } = input
  return { path, fsync, server: address === undefined ? null : serverOf(address, input) }
}

function serverOf(address: ServerAddress, input: Input): StateServerSpec {
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
