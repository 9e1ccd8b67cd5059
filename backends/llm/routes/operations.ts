/**
 * Operations other than chat, as files list them in `routes`. To add one: its file here, and its line
 * (docs/adding.md#an-operation).
 */
import type { BodyOperationType, OperationType } from './answer-spec.ts'
import { anthropicCount, geminiCount } from './count.ts'
import { embeddings } from './embeddings.ts'
import { imageEdits, imageGenerations, imageVariations } from './images.ts'
import { models } from './models.ts'
import { moderations } from './moderations.ts'
import type { BodyOperationKind, OperationKind } from './operation.ts'
import { realtime } from './realtime.ts'
import { rerank } from './rerank.ts'
import { speech, transcriptions, translations } from './sound.ts'
import { stored } from './stored.ts'
import { textCompletions } from './text-completions.ts'

export const OPERATIONS: readonly OperationKind[] = [
  ...[textCompletions, embeddings, rerank, moderations, transcriptions, translations, speech],
  ...[imageGenerations, imageEdits, imageVariations],
  ...[anthropicCount, geminiCount, models, realtime, stored]
]

const BY_TYPE: ReadonlyMap<string, OperationKind> = new Map(OPERATIONS.map((kind) => [kind.type, kind]))

export const isOperation = (type: string): type is OperationType => BY_TYPE.has(type)

export const operationKind = (type: OperationType): OperationKind => BY_TYPE.get(type)!

/** Types say which of them read a body. */
export const bodyOperation = (type: BodyOperationType): BodyOperationKind => BY_TYPE.get(type) as BodyOperationKind
