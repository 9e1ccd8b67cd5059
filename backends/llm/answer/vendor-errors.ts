/**
 * Errors for clients of APIs that are no chat: Cohere's, Jina's and Voyage's, each in the words of its maker. Sources:
 * Cohere, API reference, "Errors"; Jina AI, "Reranker API" (detail), which clients read without looking further
 * (langchain_community, jina_rerank.py); voyageai-python, api_requestor.py, which takes a body without a `detail` for
 * no answer at all.
 */
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

/** Where a client looks for the message: in `message` (Cohere), or in `detail` (Jina, Voyage). */
export type ErrorWords = 'message' | 'detail'

type Head = Pick<Exchange, 'originalPath' | 'request'>

/** Whose client sends `ex`, by its path, and by what SDKs say of themselves; null: that of the format. */
export function wordsOf({ originalPath: path, request }: Head): ErrorWords | null {
  if (path.endsWith('/v2/rerank') || path.endsWith('/v2/embed')) return 'message'
  // OpenAI's SDKs say who they are; Voyage's drops what it would say (0.5.0, request_headers).
  if (path.endsWith('/embeddings')) return request.get('x-stainless-lang') === undefined ? 'detail' : null
  if (!path.endsWith('/rerank')) return null
  return /^cohere(?:-ai)?$/.test(request.get('x-fern-sdk-name') ?? '') ? 'message' : 'detail'
}

/** `error`, a body of OpenAI's format, in `words`. */
const WRITE: Readonly<Record<ErrorWords, (error: JsonObject, message: string, id: string | null) => JsonObject>> = {
  message: (_, message, id) => (id === null ? { message } : { id, message }),
  // Others have these paths, too, and look into `error`.
  detail: (error, message) => ({ detail: message, ...error })
}

/** What FORMATS[client] has written, for a client with `words`. `id`: of the request, where it is known. */
export function inWordsOf(words: ErrorWords | null, error: JsonObject, message: string, id: string | null): JsonObject {
  return words === null ? error : WRITE[words](error, message, id)
}

/** An error for the client of `ex`, with the id of the request where the format has it in the body. */
export function clientError(
  ex: Head,
  client: FormatName,
  error: Parameters<(typeof FORMATS)[FormatName]['writeError']>[0],
  id: string
): JsonObject {
  const body = FORMATS[client].writeError(error)
  if (client === 'messages') return { ...body, request_id: id }
  return client === 'completions' ? inWordsOf(wordsOf(ex), body, error.message, id) : body
}
