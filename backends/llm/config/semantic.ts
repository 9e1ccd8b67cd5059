/** Answers to like questions (docs/routing.md#like-questions): schema, and its form in the Snapshot. */
import type { AiProvider, AiSemantic, AiVectorStore } from '#backends/llm/config/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { exactlyOne } from '#engine/schema/choice.ts'
import { authKey } from '#engine/schema/credential.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { keyMissing, shortString, z } from '#engine/schema/schema.ts'
import { backendRef } from '#engine/schema/service-ref.ts'
import { baseUrl, placeOf } from './base-url.ts'

const KEY_CHARS_MIN = 16
const KEY_CHARS_MAX = 1024
/** Two calls, of which the first one asks a model. */
const TIMEOUT_MS = 1_000
const TIMEOUT_MS_MAX = 10_000
/** Below, texts have little more in common than their language. */
const THRESHOLD_MIN = 0.5

const qdrant = () =>
  z
    .strictObject({
      url: baseUrl().optional().describe('Of its REST API: http://host:6333.'),
      backendRef: backendRef().optional().describe('Instead of url: a backend, with its own backend policies.'),
      collection: z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/, 'must have 1 to 128 letters, digits, "-" and "_"')
        .describe('One vector for each point, of the size of those of the model, with the distance Cosine.'),
      apiKey: authKey().optional().describe('Sent as api-key.')
    })
    .check(exactlyOne(['url', 'backendRef']))

export const semantic = () =>
  z
    .strictObject({
      embeddings: shortString().describe('The model of llm.models that makes vectors of questions.'),
      key: z
        .string({ error: keyMissing })
        .min(KEY_CHARS_MIN, `must have at least ${KEY_CHARS_MIN} characters`)
        .max(KEY_CHARS_MAX)
        .describe('Secret that what is kept is encrypted and marked with: the same for all replicas.'),
      threshold: z
        .number()
        .gte(THRESHOLD_MIN, `must be at least ${THRESHOLD_MIN}`)
        .lte(1, 'must be at most 1')
        .describe('Cosine of two questions from which on they are like. Each model of vectors has its own.'),
      timeout: positiveDuration('must be longer than 0')
        .refine((ms) => ms <= TIMEOUT_MS_MAX, `must be at most ${TIMEOUT_MS_MAX / 1_000}s`)
        .optional()
        .describe('How long a request waits for the vector and for the service. Default 1s.'),
      ttl: positiveDuration('must be longer than 0')
        .optional()
        .describe('How long an answer is good for like questions. Default: that of the cache.'),
      qdrant: qdrant().describe('The vector service: Qdrant 1.10 or newer.')
    })
    .describe('Questions that are alike get one answer. They may still mean something else.')

export type FileSemantic = z.output<ReturnType<typeof semantic>>

/** `cacheTtlMs`: of equal questions. `embeddings`: who makes the vectors. */
export function semanticOf(file: FileSemantic, cacheTtlMs: number, embeddings: AiProvider): AiSemantic {
  const { key, threshold, timeout = TIMEOUT_MS, ttl = cacheTtlMs } = file
  return { embeddings, key: secret(key), threshold, timeoutMs: timeout, ttlMs: ttl, store: storeOf(file.qdrant) }
}

function storeOf({ url, backendRef: ref, collection, apiKey }: FileSemantic['qdrant']): AiVectorStore {
  const common = { kind: 'qdrant', collection, apiKey: apiKey === undefined ? null : secret(apiKey) } as const
  if (url === undefined) {
    const at = ['cache', 'semantic', 'qdrant', 'backendRef', 'name']
    return { ...common, server: { name: ref!.name, at }, pathPrefix: '' }
  }
  const { host, port, hasTls, pathPrefix } = placeOf(url)
  const transport = { tls: hasTls ? { hostname: null, ca: null } : null, tcp: null }
  return {
    ...common,
    server: { host, port: port ?? (hasTls ? 443 : 80), unixPath: null, transport },
    pathPrefix: pathPrefix ?? ''
  }
}
