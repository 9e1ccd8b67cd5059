/** What was said in a call of a model, for its record: only where config.spendLog.prompts asks for it. */
import type { Exchange } from './exchange.ts'

/** Plain data, as the guards have left it. */
export interface KeptContent {
  /** In order; the oldest are left out first. */
  readonly prompt: readonly KeptMessage[]
  /** A text for each answer. */
  readonly answer: readonly string[]
  readonly toolCalls: readonly KeptCall[]
  /** There was more than is kept. */
  readonly isCut: boolean
}

export interface KeptMessage {
  readonly role: string
  readonly content: string
}

export interface KeptCall {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly arguments: string
}

/**
 * Of an exchange that is over; null: it has said nothing that may be kept. A promise: there is so much of it that
 * another thread looks into it; it never rejects.
 */
export type ContentReader = (ex: Exchange) => KeptContent | null | Promise<KeptContent | null>

export interface ContentPlan {
  readonly read: ContentReader
  /** Spans tell it, too. */
  readonly isTraced: boolean
}
