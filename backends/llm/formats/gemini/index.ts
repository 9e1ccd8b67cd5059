/**
 * Google's generateContent and streamGenerateContent?alt=sse, of the Gemini API and Vertex AI. The path says the model
 * and whether the answer is streamed.
 * Sources: ai.google.dev, "Generating content" reference; cloud.google.com, "Generate content with the Gemini API".
 */
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readCost, writeAnswer } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { GeminiReader } from './stream-read.ts'
import { GeminiWriter } from './stream-write.ts'

export const gemini: ChatFormat = {
  name: 'gemini',
  chatEnd: /:generateContent(?=$|\?)/,
  operation: 'generate_content',
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader: () => new GeminiReader(),
  streamWriter: (context, losses) => new GeminiWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts
}
