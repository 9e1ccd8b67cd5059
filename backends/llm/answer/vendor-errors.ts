/**
 * Errors for clients of APIs that are no chat: Cohere's, Jina's and Voyage's, each in the words of its maker. Sources:
 * Cohere, API reference, "Errors"; Jina AI, "Reranker API" (detail), which clients read without looking further
 * (langchain_community, jina_rerank.py); voyageai-python, api_requestor.py, which takes a body without a `detail` for
 * no answer at all.
 */
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

/** Where a client looks for the message: in `message` (Cohere), `detail` (Voyage), `detail` or `error` (Jina). */
export type ErrorWords = 'message' | 'detail' | 'detailAndError'

type Head = Pick<Exchange, 'originalPath' | 'request'>

/** Whose client sends `ex`, by its path, and by what SDKs say of themselves; null: that of the format. */
export function wordsOf({ originalPath: path, request }: Head): ErrorWords | null {
  if (path.endsWith('/v2/rerank') || path.endsWith('/v2/embed')) return 'message'
  const isRerank = path.endsWith('/rerank')
  if (!isRerank && !path.endsWith('/embeddings')) return null
  if (request.get('x-voyage-client-user-agent') !== undefined) return 'detail'
  if (!isRerank) return null
  return /^cohere(?:-ai)?$/.test(request.get('x-fern-sdk-name') ?? '') ? 'message' : 'detailAndError'
}

/** `error`, a body of OpenAI's format, in `words`. */
const WRITE: Readonly<Record<ErrorWords, (error: JsonObject, message: string, id: string | null) => JsonObject>> = {
  message: (_, message, id) => (id === null ? { message } : { id, message }),
  // Servers of one's own have this API, too, with errors like OpenAI's.
  detailAndError: (error, message) => ({ detail: message, ...error }),
  detail: (_, message) => ({ detail: message })
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
