/** Moderation (OpenAI, API reference: "Create moderation"). It costs nothing. */

import { openaiCall } from './openai-call.ts'
import type { BodyOperationKind } from './operation.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    Moderations: 'body'
  }
}

export const moderations: BodyOperationKind = openaiCall({
  type: 'Moderations',
  end: '/moderations',
  takes: 'json',
  name: 'moderation',
  capability: 'moderations',
  guarded: ['input']
})
