/** Answers that an operation has to finish (Operation.finish): further pages of the same list are asked for. */
import type { Json } from '#backends/llm/conversation.ts'
import { Attempts } from '#backends/llm/plan/attempts.ts'
import type { FinishAnswer, Operation } from '#backends/llm/routes/operation.ts'
import type { AskPage } from '#backends/llm/stored/tenant-list.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceResponseBody, whenResponse } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE } from '#engine/contract/filter.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import { errorBody } from './local-replies.ts'

/** Of one page. */
const PAGE_TIMEOUT_MS = 30_000

/** True: the answer of `ex` is what the client gets; else it goes on as usual. Never rejects. */
export async function finishAnswer(
  ex: Exchange,
  { client }: Pick<Operation, 'client'>,
  finish: FinishAnswer,
  context: BackendContext
): Promise<boolean> {
  const bytes = await new Promise<Buffer>((resolve) => {
    const here = () => resolve(ex.responseBytes ?? Buffer.alloc(0))
    if (whenResponse(ex, context.maxBufferBytes, context.fail, here) === CONTINUE) here()
  })
  // Also for a client that has gone meanwhile: what was made is there.
  const made = await finish(ex, bytes, pageRequests(ex, context))
  if (ex.response === null || ex.localReply !== null || ex.responseDone) return true
  if (made === null) return false
  if ('bytes' in made) replaceResponseBody(ex, made.bytes)
  else {
    ex.status = made.status
    const { body, headers } = errorBody(ex, client, { ...made, code: null, param: null })
    ex.response.set(...headers)
    replaceResponseBody(ex, Buffer.from(JSON.stringify(body)))
  }
  ex.response.set('Content-Type', 'application/json')
  return true
}

/** Asks the server that has answered `ex`, with what that was shown. */
function pageRequests(ex: Exchange, { inProcess, maxBufferBytes }: BackendContext): AskPage {
  const { serving, path, query } = ex
  const endpoint = serving instanceof Attempts ? (serving.attempt?.slot.provider.endpoint ?? null) : null
  const shown = ex.request.copy()
  for (const name of ['content-length', 'content-type', 'expect']) shown.remove(name)
  return async (wanted) => {
    if (endpoint === null || ex.responseDone || ex.localReply !== null) return null
    return await new Promise<Json | null>((resolve) => {
      const pieces = new Pieces()
      let isWell = false
      const call = inProcess.call(
        endpoint,
        {
          ...{ method: 'GET', path, query: joined(query, wanted), headers: shown.copy() },
          ...{ body: null, timeoutMs: PAGE_TIMEOUT_MS }
        },
        {
          head: (status) => {
            isWell = status === 200
          },
          body: (chunk, start, end) => {
            pieces.push(chunk, start, end)
            if (pieces.bytes <= maxBufferBytes && call.keeps(pieces.bytes)) return true
            call.abort()
            resolve(null)
            return false
          },
          end: () => resolve(isWell ? parsed(pieces.whole) : null),
          failed: () => resolve(null)
        }
      )
    })
  }
}

/** The parameters of `wanted` in place of those of `sent`, which may have what its provider needs beside them. */
function joined(sent: string, wanted: string): string {
  const query = new URLSearchParams(sent)
  for (const [name, value] of new URLSearchParams(wanted)) query.set(name, value)
  return `?${query}`
}

function parsed(bytes: Buffer): Json | null {
  try {
    return JSON.parse(bytes.toString()) as Json
  } catch {
    // It is as if it had not come: the list goes on there the next time.
    return null
  }
}
