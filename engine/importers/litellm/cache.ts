/** `cache` and `cache_params` -> llm.cache. Source: "Caching" of LiteLLM's docs. */
import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { settingOf } from './keys.ts'
import { isSet, numberOf, textOf } from './texts.ts'

/** How long LiteLLM keeps an answer in memory when the file does not say. */
const TTL_SECONDS = 600
const SHARED = 'answers are kept by each process of weir; llm.cache.url names a Redis that several share'
const SEMANTIC =
  'answers to like questions need a key and a collection of their own: write llm.cache.semantic, with Qdrant (docs/routing.md#like-questions)'

/** Null: an answer that is kept elsewhere is kept in memory here. */
const STORES: Readonly<Record<string, { readonly note: string | null; readonly isKept: boolean }>> = {
  local: { note: null, isKept: true },
  disk: { note: 'answers are kept in memory, not on disk', isKept: true },
  ...Object.fromEntries(['redis', 's3', 'gcs', 'azure-blob'].map((type) => [type, { note: SHARED, isKept: true }])),
  ...Object.fromEntries(
    ['redis-semantic', 'valkey-semantic', 'qdrant-semantic'].map((type) => [type, { note: SEMANTIC, isKept: false }])
  )
}

/** What says where a store is, and how answers are told apart there. */
const READ = new Set([
  ...['type', 'mode', 'ttl', 'default_in_memory_ttl', 'default_in_redis_ttl', 'supported_call_types'],
  ...['host', 'port', 'password', 'url', 'namespace', 'ssl', 'username', 'db', 'redis_startup_nodes', 'max_connections']
])

export function addCache(files: readonly ForeignFile[], environment: Raw, llm: Raw, draft: Draft): void {
  const found = settingOf(files, 'litellm_settings', 'cache')
  if (found === undefined) return
  const { file, path } = settingOf(files, 'litellm_settings', 'cache_params') ?? found
  const params = objectOf(settingOf(files, 'litellm_settings', 'cache_params')?.value)
  const at = (key: string): Path => (params[key] === undefined ? path : [...path, key])
  const type = textOf(params.type, environment) ?? 'local'
  const store = Object.hasOwn(STORES, type) ? STORES[type]! : { note: `a store "${type}" is not known`, isKept: false }
  if (store.note !== null) draft.note(file, at('type'), store.note)
  if (params.mode === 'default_off') {
    draft.note(file, at('mode'), 'answers are kept unless a client says cache-control: no-store')
    return
  }
  if (!store.isKept) return
  for (const key of Object.keys(params)) {
    // Where a store is goes with the store.
    if (!READ.has(key) && isSet(params[key]) && store.note === null)
      draft.note(file, at(key), 'is not known to this importer')
  }
  const own = type === 'redis' ? params.default_in_redis_ttl : params.default_in_memory_ttl
  const seconds = numberOf(params.ttl) ?? numberOf(own) ?? TTL_SECONDS
  // There equal requests of different keys get one answer.
  if (seconds > 0) llm.cache = { ttl: `${Math.ceil(seconds)}s`, scope: 'all' }
}
