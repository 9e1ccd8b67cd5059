/**
 * Everything of a request that reaches a model as text, and of an answer that a client reads: by the request bodies of
 * the API references of the formats. What else is in a request is looked through for strings of which nobody knows that
 * they are none (engine/kit/scan/unknown.ts).
 */

import type { AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import type { Reach } from '#engine/kit/scan/body.ts'
import { BESIDE } from '#engine/kit/scan/texts.ts'

/** Of what a client asks. */
export const REQUEST_FIELDS: { readonly [format in ClientFormat]: Reach } = {
  completions: {
    // `prompt` and `suffix` are those of the older completions; what follows them of vLLM, SGLang and llama.cpp.
    texts: [
      ...['messages', 'prediction', 'prompt', 'suffix', 'documents', 'chat_template', 'chat_template_kwargs'],
      ...['guided_choice', 'guided_regex', 'guided_grammar', 'regex', 'ebnf', 'grammar']
    ],
    declared: [
      ...['tools', 'functions', 'web_search_options.user_location'],
      ...['json_schema', 'schema', 'structures', 'format'].map((name) => `response_format.${name}`),
      ...['guided_json', 'structured_outputs', 'json_schema']
    ],
    hasNames: true,
    isAsked: true
  },
  messages: {
    texts: ['system', 'messages', 'context_management', 'compaction'],
    declared: ['tools', 'output_config.format.schema', 'output_format.schema'],
    hasNames: true,
    isAsked: true
  },
  responses: {
    texts: ['instructions', 'input', 'prompt'],
    declared: ['tools', 'text.format'],
    hasNames: true,
    isAsked: true
  },
  gemini: {
    texts: ['systemInstruction', 'system_instruction', 'contents'],
    declared: [
      'tools',
      ...['generationConfig', 'generation_config'].flatMap((config) =>
        ['responseSchema', 'response_schema', 'responseJsonSchema', 'response_json_schema'].map(
          (schema) => `${config}.${schema}`
        )
      )
    ],
    hasNames: true,
    isAsked: true
  }
}

const answered = (...texts: string[]): Reach => ({ texts, declared: [], hasNames: false, isAsked: false })

/** Of what a provider answers. A name in it is one that the request has declared. */
export const ANSWER_FIELDS: { readonly [format in FormatName]: Reach } = {
  completions: answered('choices', BESIDE),
  messages: answered('content', BESIDE),
  // What the client has said itself comes back in other fields.
  responses: answered('output', 'output_text', 'error'),
  gemini: answered('candidates', BESIDE),
  converse: answered('output', BESIDE)
}

/** Of what is no chat, where a format has it; null: nobody knows what is in it. */
const OTHERS: { readonly [type in AiRouteType]?: { readonly [format in ClientFormat]?: Reach } | null } = {
  Passthrough: null,
  Realtime: null,
  Models: null,
  AnthropicTokenCount: { messages: REQUEST_FIELDS.messages },
  GeminiTokenCount: { gemini: below(REQUEST_FIELDS.gemini, ['generateContentRequest', 'generate_content_request']) },
  Embeddings: {
    completions: { texts: ['input', 'messages', 'inputs'], declared: [], hasNames: true, isAsked: true },
    gemini: { texts: ['content', 'title', 'requests'], declared: [], hasNames: true, isAsked: true }
  }
}

/** The same there, and below the fields `names`. */
function below({ texts, declared, hasNames, isAsked }: Reach, names: readonly string[]): Reach {
  const both = (paths: readonly string[]) =>
    ['', ...names.map((name) => `${name}.`)].flatMap((at) => paths.map((path) => at + path))
  return { texts: both(texts), declared: both(declared), hasNames, isAsked }
}

/** 'nothing': there is nothing in it; 'unknown': guards would see nothing of it. */
export function reachOf(type: AiRouteType, client: ClientFormat): Reach | 'nothing' | 'unknown' {
  const other = OTHERS[type]
  if (other === undefined) return REQUEST_FIELDS[client]
  if (type === 'Models') return 'nothing'
  return other?.[client] ?? 'unknown'
}
