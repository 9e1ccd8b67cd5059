/** Cohere's chat with both of its sides: what reads requests and writes answers is for tests that speak as Cohere. */
import { cohereV2 as towardsProviders } from '#backends/llm/formats/cohere-v2/index.ts'
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { writeAnswer } from './answer-write.ts'
import { readRequest } from './request-read.ts'
import { streamWriter } from './stream-write.ts'

export const cohereV2: ChatFormat = {
  ...towardsProviders,
  readRequest,
  requestTexts: requestReach([], []),
  writeAnswer,
  streamWriter
}
