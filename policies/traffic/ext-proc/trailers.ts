/** Trailers as a service wants them. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import type { ProcessingResponse } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { applyChanges, changesOf, type MutationRules, NO_PSEUDO } from './mutation.ts'

/** `lines` as the answer to them changes them, in an object; a text says why that cannot be. */
export function changedTrailers(
  ex: Exchange,
  { response }: ProcessingResponse,
  lines: string,
  rules: MutationRules
): { readonly lines: string } | string {
  const isTrailers = response?.$case === 'requestTrailers' || response?.$case === 'responseTrailers'
  const changes = changesOf(isTrailers ? response.value.headerMutation : undefined, rules, NO_PSEUDO)
  if (typeof changes === 'string') return changes
  const block = new HeaderBlock()
  for (const line of lines.split('\r\n')) {
    const at = line.indexOf(':')
    if (at > 0) block.receive(line.slice(0, at), line.slice(at + 1).trim())
  }
  applyChanges(ex, block, changes, NO_PSEUDO)
  return { lines: block.lines() }
}
