/** What the policy compiles to, as exchanges use it. */
import type { BodyProcessing } from '#engine/contract/body-processor.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Metadata } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import type { ConversationOptions } from './conversation.ts'
import type { NamedValues } from './message.ts'
import type { MutationRules } from './mutation.ts'
import type { ProcessingModes } from './schema.ts'

export interface Plan {
  readonly conversation: ConversationOptions
  readonly bodies: BodyProcessing
  readonly modes: ProcessingModes
  readonly allowModeOverride: boolean
  readonly unchangedPasses: boolean
  readonly statusOnError: number | 'own' | null
  readonly rules: MutationRules
  readonly attributes: { readonly request: NamedValues; readonly response: NamedValues }
  readonly metadataOf: (ex: Exchange) => Metadata | undefined
  readonly bodyBytesMax: number
  readonly failed: () => void
}
