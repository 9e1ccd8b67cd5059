import type { DialectName } from '#backends/llm/config/dialect-names.ts'

/**
 * Services that speak OpenAI's chat completions at an address of their own, by the names that other gateways' files
 * have for them. Source: each vendor's page on compatibility with OpenAI's clients ("base URL").
 */
export const PRESETS = {
  baseten: 'https://inference.baseten.co/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  cohere: 'https://api.cohere.ai/compatibility/v1',
  deepinfra: 'https://api.deepinfra.com/v1/openai',
  deepseek: 'https://api.deepseek.com/v1',
  fireworks: 'https://api.fireworks.ai/inference/v1',
  groq: 'https://api.groq.com/openai/v1',
  huggingface: 'https://router.huggingface.co/v1',
  mistral: 'https://api.mistral.ai/v1',
  ollama: 'http://localhost:11434/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  togetherai: 'https://api.together.xyz/v1',
  xai: 'https://api.x.ai/v1'
} as const

/** How they speak, wherever they are. Absent: as OpenAI. */
export const DIALECT_OF: { readonly [preset in Preset]?: DialectName } = {
  cerebras: 'cerebras',
  cohere: 'cohere',
  deepseek: 'deepseek',
  fireworks: 'fireworks',
  groq: 'groq',
  huggingface: 'huggingface',
  mistral: 'mistral',
  ollama: 'ollama',
  openrouter: 'openrouter',
  togetherai: 'together',
  xai: 'xai'
}

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
