/**
 * OpenAI's Chat Completions (POST /v1/chat/completions), as clients speak it and as OpenAI, Azure, vLLM, SGLang,
 * Ollama, LiteLLM and others serve it. Fields are OpenAI's ("Create chat completion", "The chat completion object",
 * "The chat completion chunk object" of its API reference); what others add is named where it is read.
 */
import type { ChatFormat } from '#backends/llm/format.ts'
import { readAnswer, readCost, writeAnswer } from './completions/answer.ts'
import { readRequest, writeRequest } from './completions/request.ts'
import { streamReader } from './completions/stream-read.ts'
import { streamWriter } from './completions/stream-write.ts'
import { readError, writeError } from './openai-errors.ts'

export const completions: ChatFormat = {
  name: 'completions',
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader,
  streamWriter,
  readError,
  writeError
}
