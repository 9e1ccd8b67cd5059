/** Servers of OpenAI's chat completions, by name. backends/llm/providers/dialects.ts says how each one differs. */
export const DIALECTS = [
  'openai',
  'cerebras',
  'cohere',
  'deepseek',
  'fireworks',
  'groq',
  'huggingface',
  'llamacpp',
  'lmstudio',
  'mistral',
  'ollama',
  'openrouter',
  'perplexity',
  'together',
  'vllm',
  'xai'
] as const

export type DialectName = (typeof DIALECTS)[number]
