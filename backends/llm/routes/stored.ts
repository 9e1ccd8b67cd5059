/** What providers keep for clients (docs/llm-objects.md): its line among the operations; the rest is in stored/. */
import { type StoredAnswerSpec, storedAnswer } from '#backends/llm/stored/answer.ts'
import { STORED_ENDS } from '#backends/llm/stored/apis.ts'
import { storedForm } from '#backends/llm/stored/long-forms.ts'
import { isStoredPiece, StoredCall, storedClient } from '#backends/llm/stored/operation.ts'
import type { HeadOperationKind } from './operation.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    Stored: 'head'
  }
}

export const stored: HeadOperationKind<StoredAnswerSpec> = {
  type: 'Stored',
  pathEnds: STORED_ENDS,
  // Collections have members, with collections of their own.
  goesOn: () => true,
  isStrict: false,
  name: null,
  isKept: () => true,
  client: storedClient,
  // Nobody looks into files and batches.
  guarded: () => null,
  formNeeds: storedForm,
  isPiece: isStoredPiece,
  begin: (ex, settings) => new StoredCall(ex, settings()),
  rewrites: true,
  answer: storedAnswer
}
