/**
 * All formats with both of their sides. Of Converse, Cohere's chat and predictions the gateway has only that towards
 * providers;
 * what reads requests and writes answers is here and beside it, for tests that speak as Bedrock and Cohere do.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import { converse as towardsProviders } from '#backends/llm/formats/converse/index.ts'
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { cohereV2 } from '#backends/llm/testing/cohere-v2/index.ts'
import { predictions } from '#backends/llm/testing/predictions/index.ts'
import { writeAnswer } from './answer-write.ts'
import { readRequest } from './request-read.ts'
import { streamWriter } from './stream-write.ts'

export const converse: ChatFormat = {
  ...towardsProviders,
  readRequest,
  requestTexts: requestReach([], []),
  writeAnswer,
  streamWriter
}

export const WHOLE_FORMATS: Readonly<Record<FormatName, ChatFormat>> = { ...FORMATS, converse, cohereV2, predictions }
