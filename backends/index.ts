/** The registry of backend kinds: where an exchange may go. */
import type { BackendKind } from '#engine/contract/backend.ts'
import { dynamicBackend } from './http/dynamic.ts'
import { inferencePoolBackend, listedPoolBackend } from './http/inference-pool.ts'
import { invalidBackend } from './http/invalid.ts'
import { staticBackend } from './http/static.ts'
import { llmBackends } from './llm/index.ts'
import { priceCatalogue } from './llm/prices/catalogue.ts'
import { mcpBackend } from './mcp/backend.ts'

/** What models of providers cost, for those that the configuration says nothing of. */
export { priceCatalogue }

export const backends: readonly BackendKind[] = [
  staticBackend,
  dynamicBackend,
  invalidBackend,
  ...llmBackends,
  mcpBackend,
  inferencePoolBackend,
  listedPoolBackend
]
