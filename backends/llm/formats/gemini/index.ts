/**
 * Google's generateContent and streamGenerateContent?alt=sse, of the Gemini API and Vertex AI. The path says the model
 * and whether the answer is streamed.
 * Sources: ai.google.dev, "Generating content" reference; cloud.google.com, "Generate content with the Gemini API".
 */
import type { JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { ServedFormat } from '#backends/llm/formats/served-format.ts'
import { readAnswer, readSummary, writeAnswer } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { paths } from './paths.ts'
import { withPrompt } from './prompt.ts'
import { readPath } from './request-path.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { GeminiReader } from './stream-read.ts'
import { GeminiWriter } from './stream-write.ts'
import { tolerated } from './tolerated.ts'
import { camel } from './wire.ts'

declare module '#backends/llm/conversation.ts' {
  interface FormatRoutes {
    gemini: 'GenerateContent'
  }
}

export const gemini: ServedFormat<'gemini'> = {
  name: 'gemini',
  routeType: 'GenerateContent',
  pathEnds: [':generateContent', ':streamGenerateContent'],
  chatEnd: /:generateContent(?=$|\?)/,
  operation: 'generate_content',
  readRequest,
  writeRequest,
  readAnswer,
  readSummary,
  writeAnswer,
  streamReader: () => new GeminiReader(),
  streamWriter: (context, losses) => new GeminiWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts,
  paths,
  tolerated,
  instructions: {
    fields: ['systemInstruction', 'system_instruction'],
    list: null,
    write: (body, text) => ({ ...body, systemInstruction: { parts: [{ text }] } })
  },
  withPrompt,
  readPath,
  choiceCount: ({ generationConfig: config }) => (isObject(config) ? config.candidateCount : 1),
  settings: {
    of: settingsIn,
    outputs: [['responseMimeType']],
    modalities: 'responseModalities',
    effort: ['thinkingConfig', 'thinkingLevel']
  }
}

function settingsIn(body: JsonObject): JsonObject | null {
  const { generationConfig: config } = camel(body)
  return isObject(config) ? camel(config) : null
}
