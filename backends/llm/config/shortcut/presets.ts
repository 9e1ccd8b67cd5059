import type { DialectName } from '#backends/llm/config/dialect-names.ts'

export interface CompatibleProvider {
  readonly baseUrl: string
  /** How it speaks, wherever it is. Absent: as OpenAI. */
  readonly dialect?: DialectName
}

/**
 * Services that speak OpenAI's chat completions at an address of their own, by the names that other gateways' files
 * have for them. Source: each vendor's page on compatibility with OpenAI's clients ("base URL").
 */
export const PRESETS = {
  baseten: { baseUrl: 'https://inference.baseten.co/v1' },
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1', dialect: 'cerebras' },
  cohere: { baseUrl: 'https://api.cohere.ai/compatibility/v1', dialect: 'cohere' },
  deepinfra: { baseUrl: 'https://api.deepinfra.com/v1/openai' },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', dialect: 'deepseek' },
  fireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1', dialect: 'fireworks' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', dialect: 'groq' },
  huggingface: { baseUrl: 'https://router.huggingface.co/v1', dialect: 'huggingface' },
  mistral: { baseUrl: 'https://api.mistral.ai/v1', dialect: 'mistral' },
  ollama: { baseUrl: 'http://localhost:11434/v1', dialect: 'ollama' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', dialect: 'openrouter' },
  togetherai: { baseUrl: 'https://api.together.xyz/v1', dialect: 'together' },
  xai: { baseUrl: 'https://api.x.ai/v1', dialect: 'xai' }
} as const satisfies Record<string, CompatibleProvider>

/** Names of providers -> their canonical ones. */
export const KINDS = {
  openai: 'openai',
  openAI: 'openai',
  anthropic: 'anthropic',
  gemini: 'gemini',
  azure: 'azureopenai',
  azureopenai: 'azureopenai',
  vertex: 'vertexai',
  vertexai: 'vertexai',
  bedrock: 'bedrock'
} as const

export type Preset = keyof typeof PRESETS
export type Kind = keyof typeof KINDS

export function isPreset(name: string): name is Preset {
  return Object.hasOwn(PRESETS, name)
}

export function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name)
}
