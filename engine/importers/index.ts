/** What `weir import` can read. */

import type { Importer } from '#engine/contract/importer.ts'
import { ImportError } from '#engine/importers/draft.ts'
import { agentgateway } from './agentgateway/index.ts'
import { litellm } from './litellm/index.ts'

export { settled } from './settle.ts'

export const importers: readonly Importer[] = [litellm, agentgateway]

export const isImportError = (error: unknown): error is Error => error instanceof ImportError
