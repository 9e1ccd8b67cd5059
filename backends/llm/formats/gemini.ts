/**
 * Google's generateContent and streamGenerateContent?alt=sse, of the Gemini API and Vertex AI. The path says the model
 * and whether the answer is streamed.
 * Sources: ai.google.dev, "Generating content" reference; cloud.google.com, "Generate content with the Gemini API".
 */
import type { ChatFormat } from '#backends/llm/format.ts'
import { readAnswer, readCost, writeAnswer } from './gemini/answer.ts'
import { readError, writeError } from './gemini/error.ts'
import { readRequest } from './gemini/read-request.ts'
import { GeminiReader } from './gemini/stream-reader.ts'
import { GeminiWriter } from './gemini/stream-writer.ts'
import { writeRequest } from './gemini/write-request.ts'

export const gemini: ChatFormat = {
  name: 'gemini',
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader: () => new GeminiReader(),
  streamWriter: (asked, losses) => new GeminiWriter(asked, losses),
  readError,
  writeError
}
