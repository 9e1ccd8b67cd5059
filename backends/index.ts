/** The registry of backend kinds: where an exchange may go. */
import type { BackendKind } from '#engine/contract/backend.ts'
import { dynamicBackend } from './http/dynamic.ts'
import { invalidBackend } from './http/invalid.ts'
import { staticBackend } from './http/static.ts'
import { llmBackends } from './llm/index.ts'
import { mcpBackend } from './mcp/backend.ts'

export const backends: readonly BackendKind[] = [
  staticBackend,
  dynamicBackend,
  invalidBackend,
  ...llmBackends,
  mcpBackend
]
