/** How servers of OpenAI's chat completions differ, by name: what each means stands in backends/llm/dialects.ts. */
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
