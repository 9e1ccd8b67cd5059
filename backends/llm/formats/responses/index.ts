/**
 * OpenAI's Responses API, POST /v1/responses (API reference, "Responses"; types of the official SDK). A response can
 * refer to what the provider keeps (previous_response_id, conversation, prompt, item_reference): this no other format
 * can, nor the gateway.
 */

import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { readError, writeError } from '#backends/llm/formats/completions/error.ts'
import { around, listOf } from '#backends/llm/formats/prompt.ts'
import type { ServedFormat } from '#backends/llm/formats/served-format.ts'
import { readAnswer, readSummary, writeAnswer } from './answer.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { partPaths, paths } from './paths.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'
import { ResponsesWriter } from './stream-write.ts'
import { tolerated } from './tolerated.ts'

declare module '#backends/llm/conversation.ts' {
  interface FormatRoutes {
    responses: 'Responses'
  }
}

export const responses: ServedFormat<'responses'> = {
  name: 'responses',
  routeType: 'Responses',
  pathEnds: ['/responses'],
  chatEnd: /\/responses(?=$|\?)/,
  marks: /"response\.(?:completed|incomplete|failed)"|"error"\s*:\s*\{|"type"\s*:\s*"error"/,
  readRequest,
  writeRequest,
  readAnswer,
  readSummary,
  writeAnswer,
  streamReader,
  streamWriter: (context, losses) => new ResponsesWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts,
  paths,
  partPaths,
  tolerated,
  instructions: { fields: ['instructions'], list: 'input', write: (body, text) => ({ ...body, instructions: text }) },
  withPrompt: (body, prompt, hasEnd) => ({ ...body, input: around(inputOf(body), prompt, hasEnd) }),
  settings: { outputs: [['text', 'format', 'type']], modalities: null, effort: ['reasoning', 'effort'] }
}

/** One text, or a list of items (OpenAI, "Create a response"). */
function inputOf(body: JsonObject): readonly Json[] {
  return typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : listOf(body, 'input')
}
