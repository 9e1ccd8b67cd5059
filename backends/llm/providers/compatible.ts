/**
 * Services and servers that speak OpenAI's chat completions: one row for each. Some refuse, or do not read, what this
 * gateway adds to requests: their rows say so, with the place that it is known from. Base URLs are from each vendor's
 * page on compatibility with OpenAI's clients.
 */

export interface Dialect {
  /** Streams may be asked for their usage (`stream_options`): the others tell it unasked, or never. */
  readonly asksUsage: boolean
  /** Where the bound of an answer stands. */
  readonly limit: 'max_completion_tokens' | 'max_tokens'
  /** Where the model's thoughts of earlier turns stand in its messages; null: they are left out. */
  readonly thoughts: 'reasoning_content' | 'reasoning' | null
}

export interface CompatibleService extends Partial<Dialect> {
  /** Its name can stand for a provider in `llm.models`, at this address. */
  readonly baseUrl?: string
  /** That name, when other gateways' files have another one. */
  readonly preset?: string
  /** Its own hosts, also with something ahead of them. */
  readonly hosts?: readonly string[]
}

export const OPENAI: Dialect = { asksUsage: true, limit: 'max_completion_tokens', thoughts: 'reasoning_content' }

export const COMPATIBLE = {
  openai: { hosts: ['api.openai.com'] },
  baseten: { baseUrl: 'https://inference.baseten.co/v1' },
  // "property 'messages.2.assistant.reasoning_content' is unsupported", and `reasoning` is read (qwen-code #11045).
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1', hosts: ['api.cerebras.ai'], thoughts: 'reasoning' },
  // "Compatibility API", supported parameters: max_tokens.
  cohere: {
    baseUrl: 'https://api.cohere.ai/compatibility/v1',
    hosts: ['api.cohere.ai', 'api.cohere.com'],
    limit: 'max_tokens'
  },
  deepinfra: { baseUrl: 'https://api.deepinfra.com/v1/openai' },
  // "Create Chat Completion": max_tokens; "Thinking mode": reasoning_content of turns with calls must come back.
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', hosts: ['api.deepseek.com'], limit: 'max_tokens' },
  // "Create Chat Completion": max_tokens.
  fireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1', hosts: ['api.fireworks.ai'], limit: 'max_tokens' },
  // "property 'reasoning_content' is unsupported" (jan #8136); `reasoning` too, of some models (llms #64).
  groq: { baseUrl: 'https://api.groq.com/openai/v1', hosts: ['api.groq.com'], thoughts: null },
  // "Chat Completion" of Inference Providers: max_tokens, stream_options.
  huggingface: { baseUrl: 'https://router.huggingface.co/v1', hosts: ['router.huggingface.co'], limit: 'max_tokens' },
  // tools/server/README.md: max_tokens.
  llamacpp: { limit: 'max_tokens' },
  // "OpenAI Compatibility Endpoints", supported payload parameters: max_tokens.
  lmstudio: { limit: 'max_tokens' },
  // 422 "extra_forbidden" of max_completion_tokens (hindsight #852), of stream_options (llxprt-code #114; usage is in
  // the last event all the same), of members that messages do not have (nanobot #2494).
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    hosts: ['api.mistral.ai'],
    asksUsage: false,
    limit: 'max_tokens',
    thoughts: null
  },
  // "OpenAI compatibility", supported request fields: stream_options, max_tokens. Others are not looked at.
  ollama: { baseUrl: 'http://localhost:11434/v1', hosts: ['ollama.com'], limit: 'max_tokens' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', hosts: ['openrouter.ai'] },
  // "Chat Completions": max_tokens.
  perplexity: { hosts: ['api.perplexity.ai'], limit: 'max_tokens' },
  // "Create Chat Completion": max_tokens.
  together: {
    baseUrl: 'https://api.together.xyz/v1',
    preset: 'togetherai',
    hosts: ['api.together.xyz', 'api.together.ai'],
    limit: 'max_tokens'
  },
  // Before 0.6.3 max_completion_tokens was "extra_forbidden"; the older name is read by all.
  vllm: { limit: 'max_tokens' },
  // "Chat completions": max_tokens is deprecated in favour of max_completion_tokens.
  xai: { baseUrl: 'https://api.x.ai/v1', hosts: ['api.x.ai'] }
} as const satisfies Record<string, CompatibleService>

export type DialectName = keyof typeof COMPATIBLE

/** Names that a configuration may give to a dialect. */
export const DIALECTS = Object.keys(COMPATIBLE) as readonly DialectName[]
