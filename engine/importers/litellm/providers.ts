/**
 * LiteLLM's names of providers -> what weir asks. Source: "Providers" of LiteLLM's docs: prefixes, variables that hold
 * keys, and the addresses of services that speak OpenAI's format.
 */

export interface ProviderRow {
  /** One of weir's llm.models[].provider; absent: a server that speaks OpenAI's format. */
  readonly provider?: string
  /** The variable that LiteLLM reads its key from. Absent: such servers need no key. */
  readonly key?: string
  /** Where it is, when the file does not say. */
  readonly baseUrl?: string
  readonly dialect?: string
}

const own = (provider: string, key?: string): ProviderRow => ({ provider, ...(key === undefined ? {} : { key }) })
const at = (baseUrl: string, key: string, dialect?: string): ProviderRow => ({
  ...{ baseUrl, key },
  ...(dialect === undefined ? {} : { dialect })
})

export const PROVIDERS: Readonly<Record<string, ProviderRow>> = {
  openai: own('openai', 'OPENAI_API_KEY'),
  'text-completion-openai': own('openai', 'OPENAI_API_KEY'),
  anthropic: own('anthropic', 'ANTHROPIC_API_KEY'),
  gemini: own('gemini', 'GEMINI_API_KEY'),
  azure: own('azure', 'AZURE_API_KEY'),
  bedrock: own('bedrock'),
  vertex_ai: own('vertex'),
  watsonx: own('watsonx', 'WATSONX_APIKEY'),
  ...{ sagemaker: own('sagemaker'), sagemaker_chat: own('sagemaker') },
  replicate: own('replicate', 'REPLICATE_API_KEY'),
  groq: own('groq', 'GROQ_API_KEY'),
  mistral: own('mistral', 'MISTRAL_API_KEY'),
  codestral: at('https://codestral.mistral.ai/v1', 'CODESTRAL_API_KEY', 'mistral'),
  deepseek: own('deepseek', 'DEEPSEEK_API_KEY'),
  xai: own('xai', 'XAI_API_KEY'),
  openrouter: own('openrouter', 'OPENROUTER_API_KEY'),
  together_ai: own('togetherai', 'TOGETHERAI_API_KEY'),
  fireworks_ai: own('fireworks', 'FIREWORKS_AI_API_KEY'),
  cerebras: own('cerebras', 'CEREBRAS_API_KEY'),
  cohere: own('cohere', 'COHERE_API_KEY'),
  cohere_chat: own('cohere', 'COHERE_API_KEY'),
  deepinfra: own('deepinfra', 'DEEPINFRA_API_KEY'),
  huggingface: own('huggingface', 'HF_TOKEN'),
  baseten: own('baseten', 'BASETEN_API_KEY'),
  ollama: own('ollama'),
  ollama_chat: own('ollama'),
  perplexity: own('perplexity', 'PERPLEXITYAI_API_KEY'),
  nvidia_nim: own('nvidia', 'NVIDIA_NIM_API_KEY'),
  sambanova: own('sambanova', 'SAMBANOVA_API_KEY'),
  moonshot: own('moonshot', 'MOONSHOT_API_KEY'),
  dashscope: at('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'),
  zai: own('zai', 'ZAI_API_KEY'),
  volcengine: own('volcengine', 'VOLCENGINE_API_KEY'),
  nebius: own('nebius', 'NEBIUS_API_KEY'),
  novita: own('novita', 'NOVITA_API_KEY'),
  hyperbolic: own('hyperbolic', 'HYPERBOLIC_API_KEY'),
  featherless_ai: own('featherless', 'FEATHERLESS_AI_API_KEY'),
  friendliai: own('friendli', 'FRIENDLI_TOKEN'),
  meta_llama: at('https://api.llama.com/compat/v1', 'LLAMA_API_KEY'),
  lambda_ai: at('https://api.lambda.ai/v1', 'LAMBDA_API_KEY'),
  vercel_ai_gateway: own('vercel', 'VERCEL_AI_GATEWAY_API_KEY'),
  github: at('https://models.inference.ai.azure.com', 'GITHUB_API_KEY'),
  voyage: own('voyage', 'VOYAGE_API_KEY'),
  jina_ai: own('jina', 'JINA_AI_API_KEY'),
  // Servers of one's own: their address is in the file.
  hosted_vllm: { dialect: 'vllm' },
  vllm: { dialect: 'vllm' },
  llamafile: { dialect: 'llamacpp' },
  lm_studio: { dialect: 'lmstudio' },
  xinference: {},
  litellm_proxy: {},
  openai_like: {},
  custom_openai: {},
  databricks: {},
  azure_ai: {}
}

/** Names without a prefix, of which LiteLLM knows the provider. */
const KNOWN: readonly (readonly [name: RegExp, provider: string])[] = [
  [
    /^(?:gpt-|chatgpt-|o[1-9](?:-|$)|text-embedding-|dall-e|whisper-|tts-|omni-moderation|davinci|babbage|ft:)/,
    'openai'
  ],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'vertex_ai'],
  [/^command(?:-|$)/, 'cohere'],
  [/^(?:anthropic\.|amazon\.|meta\.|mistral\.|cohere\.|us\.|eu\.|apac\.)/, 'bedrock']
]

export interface ModelName {
  /** A key of PROVIDERS, or what the file says instead; null: nobody can tell. */
  readonly provider: string | null
  /** The provider's name of the model. */
  readonly model: string
}

/** `custom`: custom_llm_provider of the file. */
export function readModelName(text: string, custom: string | undefined): ModelName {
  if (custom !== undefined) return { provider: custom, model: text.startsWith(`${custom}/`) ? rest(text) : text }
  const [prefix = ''] = text.split('/')
  if (text.includes('/') && Object.hasOwn(PROVIDERS, prefix)) return { provider: prefix, model: rest(text) }
  const known = KNOWN.find(([name]) => name.test(text))
  return { provider: known?.[1] ?? null, model: text }
}

const rest = (text: string): string => text.slice(text.indexOf('/') + 1)
