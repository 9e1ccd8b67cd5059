/** What models were asked and have answered, on its way to the thread that runs an expression over it (offload.ts). */
import type { ContentJob, JsonValue, ModelContent } from '#engine/contract/model-use.ts'
import type { Needs } from './index.ts'

const CONTENT = ['prompt', 'completion', 'toolCalls', 'params'] as const
type ContentFields = { [K in (typeof CONTENT)[number] | 'request']?: JsonValue | undefined } & {
  serviceTier?: string | undefined
}

/** `from`: much of it goes as the bytes that it came in, and is read there. */
export type PackedContent = ContentFields & { from?: ContentJob }

export function readsContent(needs: Needs): boolean {
  const fields = [...CONTENT, 'serviceTier'].map((part) => `llm.${part}`)
  return ['llmRequest', ...fields].some((name) => needs.reads(name))
}

/** Prompts and answers travel as the data that the expressions read. */
export function packContent(content: ModelContent | undefined, all: readonly Needs[]): PackedContent {
  const packed: PackedContent = {}
  if (content === undefined || !all.some(readsContent)) return packed
  const from = content.elsewhere()
  if (from !== null) return { from }
  const reads = (name: string) => all.some((needs) => needs.reads(name))
  for (const part of CONTENT) if (reads(`llm.${part}`)) packed[part] = content[part]()
  if (reads('llmRequest')) packed.request = content.request()
  if (reads('llm.serviceTier')) packed.serviceTier = content.serviceTier()
  return packed
}

export function unpackContent(packed: ContentFields): ModelContent {
  return {
    request: () => packed.request,
    prompt: () => packed.prompt,
    completion: () => packed.completion,
    toolCalls: () => packed.toolCalls,
    params: () => packed.params,
    serviceTier: () => packed.serviceTier,
    elsewhere: () => null
  }
}
