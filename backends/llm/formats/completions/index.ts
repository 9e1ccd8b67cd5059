/**
 * OpenAI's Chat Completions (POST /v1/chat/completions), as clients speak it and as OpenAI, Azure, vLLM, SGLang,
 * Ollama, LiteLLM and others serve it. Fields are OpenAI's ("Create chat completion", "The chat completion object",
 * "The chat completion chunk object" of its API reference); what others add is named where it is read.
 */
import { around, listOf } from '#backends/llm/formats/prompt.ts'
import type { ServedFormat } from '#backends/llm/formats/served-format.ts'
import { readAnswer, readSummary, writeAnswer } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { mending } from './mending.ts'
import { partPaths, paths } from './paths.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'
import { CompletionsWriter } from './stream-write.ts'
import { tolerated } from './tolerated.ts'

export const completions: ServedFormat<'completions'> = {
  name: 'completions',
  routeType: 'Completions',
  pathEnds: ['/chat/completions'],
  chatEnd: /\/chat\/completions(?=$|\?)/,
  marks: /"usage"\s*:\s*\{|"errors?"|\[DONE\]|"finish_reason"\s*:\s*"|"status_code"\s*:\s*[1-9]/,
  mending,
  readRequest,
  writeRequest,
  readAnswer,
  readSummary,
  writeAnswer,
  streamReader,
  streamWriter: (context, losses) => new CompletionsWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts,
  paths,
  partPaths,
  tolerated,
  instructions: {
    fields: [],
    list: 'messages',
    write(body, text) {
      const messages = body.messages ?? []
      return Array.isArray(messages) ? { ...body, messages: [{ role: 'system', content: text }, ...messages] } : null
    }
  },
  withPrompt: (body, prompt, hasEnd) => ({ ...body, messages: around(listOf(body, 'messages'), prompt, hasEnd) }),
  choiceCount: ({ n }) => n,
  settings: { outputs: [['response_format', 'type']], modalities: 'modalities', effort: ['reasoning_effort'] }
}
