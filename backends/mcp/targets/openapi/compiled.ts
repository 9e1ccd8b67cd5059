/**
 * Operations of documents that have been read before: a reload brings every document again, mostly unchanged, and
 * a large one holds a worker's loop (qdrant.json, 42 operations: 21 to 60 ms; its digest: 0.5 ms).
 */
import { createHash } from 'node:crypto'
import { Lru } from '#engine/kit/lru.ts'
import type { Document } from './document.ts'
import { type Operations, readOperations } from './operation.ts'

const DOCUMENTS_MAX = 16

const known = new Lru<string, Operations>(DOCUMENTS_MAX)

/** readOperations, once per document and worker. Throws ConfigError. */
export function compiledOperations(document: Document, authHeader: string | null): Operations {
  const text = JSON.stringify([authHeader, document.root])
  const key = createHash('sha256').update(text).digest('base64')
  let operations = known.get(key)
  if (operations === undefined) {
    operations = readOperations(document, authHeader)
    known.set(key, operations)
  }
  return operations
}
