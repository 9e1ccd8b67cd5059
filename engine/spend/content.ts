/**
 * Prompts and answers of a call, for its record (config.spendLog.prompts): what the guards have let pass, in the form
 * in which it has passed, and no more of it than the configuration allows.
 */
import { clientKey } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { guardVerdicts } from '#engine/contract/guard-verdicts.ts'
import type { ContentPlan, ContentReader, KeptCall, KeptContent, KeptMessage } from '#engine/contract/kept-content.ts'
import type { ContentJob, ModelContent } from '#engine/contract/model-use.ts'
import type { Offload } from '#engine/contract/policy.ts'
import type { SpendPrompts } from '#engine/contract/spend.ts'

/** The job's name in the pool. */
export const KEPT_CONTENT_JOB = 'kept-content'

export interface KeptContentJob {
  readonly from: ContentJob
  readonly bytesMax: number
}

/** Bytes of JSON around one message or call, in a record or in a span. */
const AROUND_BYTES = 96
/** A character takes at most so many bytes of JSON (\u0000). */
const CHAR_BYTES_MAX = 6

export function contentPlan({ bytesMax, isTraced }: SpendPrompts, offload: Offload): ContentPlan {
  const read: ContentReader = (ex) => {
    const content = ex.llm?.content
    const passed = content === undefined ? NOTHING : passedOf(ex)
    if (content === undefined || !passed.request) return null
    const from = content.elsewhere()
    const only = (kept: KeptContent): KeptContent => (passed.answer ? kept : { ...kept, answer: [], toolCalls: [] })
    if (from === null) return only(keptContent(content, bytesMax))
    const job: KeptContentJob = { from, bytesMax }
    return offload.run(KEPT_CONTENT_JOB, job, clientKey(ex)).then(
      (kept) => only(kept as KeptContent),
      // Too much is waiting, or the helper died.
      () => LOST
    )
  }
  return { read, isTraced }
}

const NOTHING = { request: false, answer: false }
const LOST: KeptContent = { prompt: [], answer: [], toolCalls: [], isCut: true }

/** What a guard has refused is in no record, wherever the refusal came. */
function passedOf(ex: Exchange): { readonly request: boolean; readonly answer: boolean } {
  const refused = (guardVerdicts(ex) ?? []).filter(({ action }) => action === 'reject' || action === 'unavailable')
  return {
    request: !refused.some(({ guard }) => guard.startsWith('request')),
    answer: refused.length === 0
  }
}

/** `bytesMax`: of each of the three parts, as JSON. Runs where the bytes are. */
export function keptContent(content: ModelContent, bytesMax: number): KeptContent {
  const prompt = (content.prompt() ?? []) as readonly KeptMessage[]
  const answer = (content.completion() ?? []) as readonly string[]
  const toolCalls = (content.toolCalls() ?? []) as readonly KeptCall[]
  return boundedContent({ prompt, answer, toolCalls, isCut: false }, bytesMax)
}

/** Bounds as of keptContent. */
export function boundedContent(content: KeptContent, bytesMax: number): KeptContent {
  const prompt = newest(content.prompt, bytesMax)
  const answer = oldest(content.answer.map(textOf), bytesMax)
  const calls = oldest(content.toolCalls.map(partsOf), bytesMax)
  return {
    prompt: prompt.kept,
    answer: answer.kept.map(({ last }) => last),
    toolCalls: calls.kept.map(({ fixed: [id = '', name = ''], last }) => ({ id, name, arguments: last })),
    isCut: content.isCut || prompt.isCut || answer.isCut || calls.isCut
  }
}

/** Texts that belong together; the last one may be cut. */
interface Piece {
  readonly fixed: readonly string[]
  readonly last: string
}

const textOf = (last: string): Piece => ({ fixed: [], last })
const partsOf = ({ id, name, arguments: last }: KeptCall): Piece => ({ fixed: [id, name], last })

/** What was said last says most of what the model has answered. */
function newest(messages: readonly KeptMessage[], bytesMax: number) {
  const pieces = messages.map(({ role, content }) => ({ fixed: [role], last: content })).reverse()
  const { kept, isCut } = oldest(pieces, bytesMax)
  return { kept: kept.map(({ fixed: [role = ''], last }) => ({ role, content: last })).reverse(), isCut }
}

function oldest(
  pieces: readonly Piece[],
  bytesMax: number
): { readonly kept: readonly Piece[]; readonly isCut: boolean } {
  const kept: Piece[] = []
  let left = bytesMax
  for (const { fixed, last } of pieces) {
    const around = fixed.reduce((sum, text) => sum + jsonBytes(text), AROUND_BYTES)
    if (around >= left) return { kept, isCut: true }
    const text = cutText(last, left - around)
    kept.push({ fixed, last: text })
    if (text.length < last.length) return { kept, isCut: true }
    left -= around + jsonBytes(text)
  }
  return { kept, isCut: false }
}

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text))

/** The longest beginning, or nearly, that takes no more bytes as JSON. */
function cutText(text: string, bytesMax: number): string {
  let cut = text.slice(0, bytesMax)
  for (;;) {
    const tooMany = jsonBytes(cut) - bytesMax
    if (tooMany <= 0) break
    cut = cut.slice(0, Math.max(cut.length - Math.ceil(tooMany / CHAR_BYTES_MAX), 0))
    if (cut === '') return ''
  }
  // Half of a pair is no character.
  return cut.length < text.length && /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}
