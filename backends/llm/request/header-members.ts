/** Headers of a client that its provider has in the body: the betas of Claude on Bedrock. */
import type { HeaderMember } from '#backends/llm/providers/provider.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

const OPEN_BRACE = 0x7b
/** Of a header; more are not looked at. */
const WORDS_MAX = 64

/** Moves them, `bytes` being the body as it is to be sent. Returns what is left out, as notes of losses. */
export function moveHeader(ex: Exchange, bytes: Buffer, { header, member, words, without }: HeaderMember): string[] {
  const value = ex.request.getAll(header) ?? ''
  ex.request.remove(header)
  for (const name of without) ex.request.remove(name)
  const all = value.split(',', WORDS_MAX).map((word) => word.trim())
  const named = [...new Set(all)].filter((word) => word !== '')
  const taken = [...new Set(named.flatMap((word) => words.get(word) ?? []))]
  // The client may have said it in the body, as the API has it.
  if (taken.length > 0 && bytes[0] === OPEN_BRACE && !bytes.includes(`"${member}"`)) {
    const head = Buffer.from(`{"${member}":${JSON.stringify(taken)},`)
    replaceRequestBody(ex, Buffer.concat([head, bytes.subarray(1)]))
  }
  return named.filter((word) => !words.has(word)).map((word) => `${header}: ${word}`)
}
