/** Operations other than chat by their names in `routes`, and how the answer to one is read. Plain data. */

import type { ClientFormat } from '#backends/llm/conversation.ts'

/**
 * Each with what is read of a request: its body, or its head alone. Lists of models are here; the file of each other
 * adds its own (routes/<operation>.ts).
 */
export interface OperationRoutes {
  Models: 'head'
}

export type OperationType = keyof OperationRoutes
export type BodyOperationType = {
  [N in OperationType]: OperationRoutes[N] extends 'body' ? N : never
}[OperationType]

/** How an answer is read. Each operation has further members of its own. */
export interface AnswerSpec {
  readonly of: OperationType
  readonly client: ClientFormat
}

/** Whose list a client expects, by the format of its errors. */
export type ListClient = 'completions' | 'messages' | 'gemini'
