/** Answers that are kept for equal requests (docs/routing.md): schema, and its form in the Snapshot. */
import type { AiCache, AiProvider } from '#backends/llm/config/snapshot.ts'
import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { secret } from '#engine/kit/secret.ts'
import type { RedisServer } from '#engine/redis/connect.ts'
import { duration, positiveDuration } from '#engine/schema/duration.ts'
import { longString, misplacedKeys, refusedKeys, shortString, whole, z } from '#engine/schema/schema.ts'
import { checkServer, type ServerAddress, serverUrl } from '#engine/schema/server-url.ts'
import { together } from '#engine/schema/together.ts'
import { type FileSemantic, semantic, semanticOf } from './semantic.ts'

const MIB = 1024 * 1024
const SIZE_DEFAULT = 64 * MIB
const ENTRY_DEFAULT = MIB
const SIZE_MAX = 16_384 * MIB
/** A hit saves a second or more; a server that is slow must not cost as much. */
const TIMEOUT_MS = 100
const TIMEOUT_MS_MAX = 10_000

const fields = () => ({
  ttl: duration()
    .refine((ms) => ms > 0, 'must be more than 0')
    .describe('How long an answer is good.'),
  scope: z
    .enum(['key', 'team', 'all'])
    .optional()
    .describe('Who gets the answer of another: default key, clients with the same key or token alone.'),
  key: expression(REQUEST_ROOTS)
    .optional()
    .describe('What equal requests have in common beside scope, format and model. Default: the whole body.'),
  maxSize: whole(1, SIZE_MAX).optional().describe('Bytes kept by each worker thread. Default 64 MiB.'),
  maxEntrySize: whole(1, SIZE_MAX).optional().describe('Of one answer. Default 1 MiB.'),
  toolCalls: z.boolean().optional().describe('Also answers that call tools. Default false: a call may do something.'),
  url: serverUrl('redis')
    .optional()
    .describe('Redis or Valkey: what one replica keeps is given by all. Each still keeps maxSize itself.'),
  username: shortString().optional().describe('For the server of url, if it does not stand there.'),
  password: longString().optional().describe('For the server of url: a variable ($NAME).'),
  root: longString().optional().describe('PEM: authorities of the server. Default: those that Node.js knows.'),
  timeout: positiveDuration('must be longer than 0')
    .refine((ms) => ms <= TIMEOUT_MS_MAX, `must be at most ${TIMEOUT_MS_MAX / 1_000}s`)
    .optional()
    .describe('How long a request waits for the server. Default 100ms.'),
  ...refusedKeys('cache setting', ['redis'])
})

/** Only `llm` has models by their names, one of which makes vectors. */
const ONLY_OF_MODELS = 'is a setting of llm.cache: its models have names'
const NOT_WITH_KEY = 'does not go with key, which says already when two requests are equal: leave one of them out'
const WHAT = 'Answers that are kept for equal requests.'

export const cache = () =>
  z
    .strictObject({ ...fields(), ...misplacedKeys(ONLY_OF_MODELS, ['semantic']) })
    .superRefine(checkServer(ONLY_WITH_URL))
    .describe(WHAT)

/** Of `llm`. */
export const cacheOfModels = () =>
  z
    .strictObject({ ...fields(), semantic: semantic().optional() })
    .superRefine(checkServer(ONLY_WITH_URL))
    .check(
      together<FileCache>([], ({ value, issues }) => {
        if (value.semantic === undefined || value.key === undefined) return
        issues.push({ code: 'custom', path: ['semantic'], message: NOT_WITH_KEY, input: value })
      })
    )
    .describe(WHAT)

const ONLY_WITH_URL = ['username', 'password', 'root', 'timeout'] as const

export interface FileCache {
  readonly ttl: number
  readonly scope?: AiCache['scope'] | undefined
  readonly key?: string | undefined
  readonly maxSize?: number | undefined
  readonly maxEntrySize?: number | undefined
  readonly toolCalls?: boolean | undefined
  readonly url?: ServerAddress | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly root?: string | undefined
  readonly timeout?: number | undefined
  readonly semantic?: FileSemantic | undefined
}

/** `providerOf`: of a model of the file, by its name; absent: they have none. */
export function cacheOf(file: FileCache | undefined, providerOf?: (model: string) => AiProvider): AiCache | undefined {
  if (file === undefined) return undefined
  const { ttl, scope = 'key', key = null, maxSize = SIZE_DEFAULT, maxEntrySize = ENTRY_DEFAULT, semantic } = file
  return {
    ttlMs: ttl,
    scope,
    key,
    bytesMax: maxSize,
    entryBytesMax: Math.min(maxEntrySize, maxSize),
    keepsToolCalls: file.toolCalls ?? false,
    server: file.url === undefined ? null : serverOf(file.url, file),
    semantic: semantic === undefined ? null : semanticOf(semantic, ttl, providerOf!(semantic.embeddings))
  }
}

function serverOf(address: ServerAddress, file: FileCache): RedisServer {
  const { host, port, database, isTls } = address
  const { username = address.username, password = address.password, root = null, timeout = TIMEOUT_MS } = file
  return {
    ...{ host, port, database, isTls, username, root, timeoutMs: timeout },
    password: password === null ? null : secret(password)
  }
}
