/**
 * OpenAI's Chat Completions (POST /v1/chat/completions), as clients speak it and as OpenAI, Azure, vLLM, SGLang,
 * Ollama, LiteLLM and others serve it. Fields are OpenAI's ("Create chat completion", "The chat completion object",
 * "The chat completion chunk object" of its API reference); what others add is named where it is read.
 */
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readCost, writeAnswer } from './answer.ts'
import { readError, writeError } from './error.ts'
import { answerTexts, eventTexts, requestTexts } from './guarded-texts.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'
import { CompletionsWriter } from './stream-write.ts'

export const completions: ChatFormat = {
  name: 'completions',
  chatEnd: /\/chat\/completions(?=$|\?)/,
  marks: /"usage"\s*:\s*\{|"error"|\[DONE\]|"finish_reason"\s*:\s*"/,
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader,
  streamWriter: (context, losses) => new CompletionsWriter(context, losses),
  readError,
  writeError,
  requestTexts,
  answerTexts,
  eventTexts
}
