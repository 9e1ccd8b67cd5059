/**
 * Services and servers that speak OpenAI's chat completions: one row for each, with what differs (dialect/dialect.ts)
 * and where that is known from: the vendor's reference by the title of its page, or a thread or file that records a
 * refusal. Addresses and names of variables are from each vendor's page on compatibility with OpenAI's clients.
 */
import type { Dialect } from './dialect/dialect.ts'

export interface CompatibleService {
  /** Its name can stand for a provider in `llm.models`, at this address. */
  readonly baseUrl?: string
  /** It has no address for all: what the file has to say looks like this. */
  readonly example?: string
  /** Other names that files have for it. */
  readonly aliases?: readonly string[]
  /** Its own hosts, also with something ahead of them. */
  readonly hosts?: readonly string[]
  /** The variable in which clients of the service look for its key; absent: servers of one's own need none. */
  readonly key?: string
  readonly dialect?: Partial<Dialect>
}

const OLD_LIMIT = { limit: 'max_tokens' } as const
/** Members of an answer's message that OpenAI's SDKs write back (message.model_dump()). */
const ECHOES = ['refusal', 'annotations', 'audio', 'function_call'] as const
/** Bookkeeping of OpenAI's platform. */
const OF_PLATFORM = ['store', 'metadata', 'service_tier', 'safety_identifier', 'prompt_cache_retention'] as const
/** And what its models alone have. */
const OF_MODELS = ['verbosity', 'modalities', 'audio', 'web_search_options', 'functions', 'function_call'] as const
const OF_OPENAI = [...OF_PLATFORM, 'user', 'prompt_cache_key', ...OF_MODELS] as const

export const COMPATIBLE = {
  openai: { hosts: ['api.openai.com'], key: 'OPENAI_API_KEY' },
  // "OpenAI compatible - Chat": enable_thinking, thinking_budget, "Partial mode", and the roles that it takes.
  alibaba: {
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    aliases: ['dashscope'],
    hosts: ['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'dashscope-us.aliyuncs.com'],
    key: 'DASHSCOPE_API_KEY',
    dialect: { ...OLD_LIMIT, developer: false, effort: 'enable_thinking', prefill: 'partial' }
  },
  azureai: {
    example: 'https://RESOURCE.services.ai.azure.com/openai/v1',
    hosts: ['services.ai.azure.com'],
    key: 'AZURE_AI_API_KEY'
  },
  baseten: { baseUrl: 'https://inference.baseten.co/v1', hosts: ['inference.baseten.co'], key: 'BASETEN_API_KEY' },
  // "OpenAI Compatibility": members that are refused, no role developer; "property
  // 'messages.2.assistant.reasoning_content' is unsupported", and `reasoning` is read (qwen-code #11045); "Tools with
  // mixed values for 'strict' are not allowed" (Roo-Code #10334); "Input should be 'low', 'medium' or 'high'"
  // (CLIProxyAPI #1143).
  cerebras: {
    baseUrl: 'https://api.cerebras.ai/v1',
    hosts: ['api.cerebras.ai'],
    key: 'CEREBRAS_API_KEY',
    dialect: {
      thoughts: 'reasoning',
      developer: false,
      efforts: ['low', 'medium', 'high'],
      strictTools: 'alike',
      refuses: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'service_tier'],
      refusesInMessages: ECHOES
    }
  },
  cloudflare: {
    example: 'https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1',
    hosts: ['api.cloudflare.com'],
    key: 'CLOUDFLARE_API_TOKEN',
    dialect: OLD_LIMIT
  },
  // "Using Cohere models via the OpenAI SDK", supported parameters: max_tokens, reasoning_effort none and high.
  cohere: {
    hosts: ['api.cohere.ai', 'api.cohere.com'],
    key: 'COHERE_API_KEY',
    dialect: { ...OLD_LIMIT, efforts: ['none', 'high'] }
  },
  crusoe: {
    baseUrl: 'https://api.inference.crusoecloud.com/v1',
    hosts: ['api.inference.crusoecloud.com'],
    key: 'CRUSOE_API_KEY'
  },
  // 'json: unknown field "stream_options"' (continue #12936); "Foundation model REST API reference": max_tokens.
  databricks: {
    example: 'https://WORKSPACE.cloud.databricks.com/serving-endpoints',
    hosts: ['cloud.databricks.com', 'azuredatabricks.net', 'gcp.databricks.com'],
    key: 'DATABRICKS_TOKEN',
    dialect: { ...OLD_LIMIT, streamOptions: false, refuses: [...OF_PLATFORM, 'user', 'prompt_cache_key'] }
  },
  deepinfra: {
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    hosts: ['api.deepinfra.com'],
    key: 'DEEPINFRA_API_KEY',
    dialect: OLD_LIMIT
  },
  // "Create Chat Completion": max_tokens, thinking, reasoning_effort; "Thinking mode": reasoning_content of turns with
  // calls must come back; "unknown variant `developer`" (llmgateway #3462); "This response_format type is unavailable
  // now" (inspect_ai #4916).
  deepseek: {
    baseUrl: 'https://api.deepseek.com/v1',
    hosts: ['api.deepseek.com'],
    key: 'DEEPSEEK_API_KEY',
    dialect: {
      ...OLD_LIMIT,
      developer: false,
      needsThoughts: true,
      textLists: false,
      effort: 'thinking',
      efforts: ['low', 'medium', 'high', 'max'],
      outputs: ['json_object']
    }
  },
  featherless: {
    baseUrl: 'https://api.featherless.ai/v1',
    hosts: ['api.featherless.ai'],
    key: 'FEATHERLESS_API_KEY',
    dialect: OLD_LIMIT
  },
  // "Create Chat Completion": max_tokens, reasoning_effort.
  fireworks: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    hosts: ['api.fireworks.ai'],
    key: 'FIREWORKS_API_KEY',
    dialect: { ...OLD_LIMIT, efforts: ['none', 'low', 'medium', 'high'] }
  },
  friendli: {
    baseUrl: 'https://api.friendli.ai/serverless/v1',
    hosts: ['api.friendli.ai'],
    key: 'FRIENDLI_TOKEN',
    dialect: OLD_LIMIT
  },
  github: { baseUrl: 'https://models.github.ai/inference', hosts: ['models.github.ai'], key: 'GITHUB_TOKEN' },
  gmicloud: { baseUrl: 'https://api.gmi-serving.com/v1', hosts: ['api.gmi-serving.com'], key: 'GMI_API_KEY' },
  // "OpenAI Compatibility": fields that "will result in a 400 error", n must be 1; "property 'reasoning_content' is
  // unsupported" (jan #8136), `reasoning` too, of some models (llms #64), 'annotations' and the like when SDKs write
  // messages back; "Reasoning": words for effort.
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1',
    hosts: ['api.groq.com'],
    key: 'GROQ_API_KEY',
    dialect: {
      thoughts: 'none',
      efforts: ['none', 'low', 'medium', 'high'],
      refuses: ['logprobs', 'top_logprobs', 'logit_bias', 'n'],
      refusesInMessages: ['name', ...ECHOES]
    }
  },
  // "Chat Completion" of Inference Providers: max_tokens, stream_options.
  huggingface: {
    baseUrl: 'https://router.huggingface.co/v1',
    hosts: ['router.huggingface.co'],
    key: 'HF_TOKEN',
    dialect: OLD_LIMIT
  },
  hyperbolic: {
    baseUrl: 'https://api.hyperbolic.xyz/v1',
    hosts: ['api.hyperbolic.xyz'],
    key: 'HYPERBOLIC_API_KEY',
    dialect: OLD_LIMIT
  },
  inception: {
    baseUrl: 'https://api.inceptionlabs.ai/v1',
    hosts: ['api.inceptionlabs.ai'],
    key: 'INCEPTION_API_KEY',
    dialect: OLD_LIMIT
  },
  jina: { baseUrl: 'https://api.jina.ai/v1', hosts: ['api.jina.ai'], key: 'JINA_API_KEY' },
  // tools/server/README.md: max_tokens.
  llama: {
    baseUrl: 'https://api.llama.com/compat/v1',
    aliases: ['meta_llama'],
    hosts: ['api.llama.com'],
    key: 'LLAMA_API_KEY'
  },
  llamacpp: { baseUrl: 'http://localhost:8080/v1', dialect: OLD_LIMIT },
  // "OpenAI Compatibility Endpoints", supported payload parameters: max_tokens; "'response_format.type' must be
  // 'json_schema' or 'text'" (lmstudio-bug-tracker #189), "Invalid tool_choice type: 'object'" (#670).
  lmstudio: {
    baseUrl: 'http://localhost:1234/v1',
    dialect: { ...OLD_LIMIT, outputs: ['json_schema'], namedTool: false }
  },
  minimax: {
    baseUrl: 'https://api.minimax.io/v1',
    hosts: ['api.minimax.io', 'api.minimaxi.com', 'api.minimax.chat'],
    key: 'MINIMAX_API_KEY',
    dialect: { developer: false }
  },
  // 422 "extra_forbidden" of max_completion_tokens (hindsight #852), of stream_options (llxprt-code #114; usage is in
  // the last event all the same), of members that messages do not have (nanobot #2494; name: mistral-go #2), of
  // metadata (OpenHands-CLI #83); "must be a-z, A-Z, 0-9, with a length of 9" (magentic #276); "Chat Completion
  // Endpoints": random_seed, tool_choice any, thoughts in content, prefix; code 3051 tells the words for effort.
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    hosts: ['api.mistral.ai', 'codestral.mistral.ai'],
    key: 'MISTRAL_API_KEY',
    dialect: {
      ...OLD_LIMIT,
      streamOptions: false,
      thoughts: 'content',
      developer: false,
      efforts: ['none', 'high'],
      forcedTool: 'any',
      callIds: 'alphanumeric9',
      seed: 'random_seed',
      prefill: 'prefix',
      refuses: [...OF_OPENAI, 'logit_bias', 'logprobs', 'top_logprobs', 'top_k'],
      refusesInMessages: ['name', ...ECHOES],
      refusesInSchemas: ['$id', '$schema']
    }
  },
  // "Migrating from OpenAI to Kimi API": max_tokens; "thinking is enabled but reasoning_content is missing in assistant
  // tool call message" (n8n #29142), where a blank is the least that it takes; reasoning_effort none is refused, and
  // thinking turns it off; "Partial Mode"; $schema makes nonsense of answers (vercel/ai, moonshotai).
  moonshot: {
    baseUrl: 'https://api.moonshot.ai/v1',
    aliases: ['moonshotai'],
    hosts: ['api.moonshot.ai', 'api.moonshot.cn'],
    key: 'MOONSHOT_API_KEY',
    dialect: {
      ...OLD_LIMIT,
      developer: false,
      needsThoughts: true,
      textLists: false,
      effort: 'thinking',
      efforts: ['low', 'high', 'max'],
      prefill: 'partial',
      refusesInSchemas: ['$schema']
    }
  },
  nebius: {
    baseUrl: 'https://api.studio.nebius.com/v1',
    hosts: ['api.studio.nebius.com', 'api.studio.nebius.ai', 'api.tokenfactory.nebius.com'],
    key: 'NEBIUS_API_KEY',
    dialect: OLD_LIMIT
  },
  novita: {
    baseUrl: 'https://api.novita.ai/v3/openai',
    hosts: ['api.novita.ai'],
    key: 'NOVITA_API_KEY',
    dialect: OLD_LIMIT
  },
  nscale: {
    baseUrl: 'https://inference.api.nscale.com/v1',
    hosts: ['inference.api.nscale.com'],
    key: 'NSCALE_SERVICE_TOKEN',
    dialect: OLD_LIMIT
  },
  // "LLM APIs", chat completions: max_tokens, content as text; the role developer is an error 500 of many models.
  nvidia: {
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    hosts: ['integrate.api.nvidia.com'],
    key: 'NVIDIA_API_KEY',
    dialect: { ...OLD_LIMIT, developer: false, textLists: false }
  },
  // "OpenAI compatibility", supported request fields: stream_options, max_tokens. Others are not looked at. Thoughts
  // are in `reasoning`; strict tools are none (pydantic-ai #4116). A last message of the model is left open
  // (ollama, server/prompt.go and template.go).
  ollama: {
    baseUrl: 'http://localhost:11434/v1',
    hosts: ['ollama.com'],
    key: 'OLLAMA_API_KEY',
    dialect: {
      ...OLD_LIMIT,
      thoughts: 'reasoning',
      efforts: ['none', 'low', 'medium', 'high'],
      strictTools: 'none',
      prefill: 'unmarked'
    }
  },
  // "Parameters": max_tokens.
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    hosts: ['openrouter.ai'],
    key: 'OPENROUTER_API_KEY',
    dialect: OLD_LIMIT
  },
  // 400 of parallel_tool_calls and of stream_options (public-cloud-roadmap #1162).
  ovhcloud: {
    baseUrl: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
    hosts: ['endpoints.kepler.ai.cloud.ovh.net'],
    key: 'OVH_AI_ENDPOINTS_ACCESS_TOKEN',
    dialect: { ...OLD_LIMIT, streamOptions: false, refuses: ['parallel_tool_calls'] }
  },
  // "Chat Completions": max_tokens, json_schema, no tools; "user and assistant roles should be alternating"
  // (api-discussion #265).
  perplexity: {
    baseUrl: 'https://api.perplexity.ai',
    hosts: ['api.perplexity.ai'],
    key: 'PERPLEXITY_API_KEY',
    dialect: {
      ...OLD_LIMIT,
      thoughts: 'none',
      developer: false,
      alternating: true,
      outputs: ['json_schema'],
      refuses: ['tools', 'tool_choice', 'parallel_tool_calls']
    }
  },
  // What all of its containers read; few chat templates have the role developer.
  sagemaker: { dialect: { ...OLD_LIMIT, developer: false } },
  // "OpenAI compatible API": max_tokens; content as text (litellm, sambanova/chat.py).
  sambanova: {
    baseUrl: 'https://api.sambanova.ai/v1',
    hosts: ['api.sambanova.ai'],
    key: 'SAMBANOVA_API_KEY',
    dialect: { ...OLD_LIMIT, developer: false, textLists: false }
  },
  scaleway: {
    baseUrl: 'https://api.scaleway.ai/v1',
    hosts: ['api.scaleway.ai'],
    key: 'SCW_SECRET_KEY',
    dialect: OLD_LIMIT
  },
  // "OpenAI APIs - Completions": max_tokens and max_completion_tokens; protocol.py: continue_final_message.
  sglang: { baseUrl: 'http://localhost:30000/v1', dialect: { ...OLD_LIMIT, prefill: 'continue_final_message' } },
  // "Cortex REST API", Chat Completions: max_completion_tokens; strict of tools has no place there.
  snowflake: {
    example: 'https://ACCOUNT.snowflakecomputing.com/api/v2/cortex/v1',
    hosts: ['snowflakecomputing.com'],
    key: 'SNOWFLAKE_PAT',
    dialect: { strictTools: 'none' }
  },
  // text-embeddings-inference, of Hugging Face: no chat.
  tei: { baseUrl: 'http://localhost:8080/v1' },
  // "Create Chat Completion": max_tokens, reasoning_effort.
  together: {
    baseUrl: 'https://api.together.xyz/v1',
    aliases: ['togetherai'],
    hosts: ['api.together.xyz', 'api.together.ai'],
    key: 'TOGETHER_API_KEY',
    dialect: { ...OLD_LIMIT, efforts: ['low', 'medium', 'high'] }
  },
  vercel: {
    baseUrl: 'https://ai-gateway.vercel.sh/v1',
    hosts: ['ai-gateway.vercel.sh'],
    key: 'AI_GATEWAY_API_KEY',
    dialect: OLD_LIMIT
  },
  // Before 0.6.3 max_completion_tokens was "extra_forbidden"; the older name is read by all. protocol.py:
  // continue_final_message, with add_generation_prompt false.
  vllm: {
    baseUrl: 'http://localhost:8000/v1',
    dialect: { ...OLD_LIMIT, efforts: ['none', 'low', 'medium', 'high'], prefill: 'continue_final_message' }
  },
  volcengine: {
    baseUrl: 'https://ark.cn-beijing.volces.com/api/v3',
    hosts: ['ark.cn-beijing.volces.com'],
    key: 'ARK_API_KEY',
    dialect: OLD_LIMIT
  },
  // Keys of MongoDB Atlas ("al-...") are good at its own host only (voyageai-python, util.py).
  voyage: {
    baseUrl: 'https://api.voyageai.com/v1',
    hosts: ['api.voyageai.com', 'ai.mongodb.com'],
    key: 'VOYAGE_API_KEY'
  },
  wandb: {
    baseUrl: 'https://api.inference.wandb.ai/v1',
    hosts: ['api.inference.wandb.ai'],
    key: 'WANDB_API_KEY',
    dialect: OLD_LIMIT
  },
  // "Infer text", text/chat: its members; roles are system, user, assistant and tool; the usage is in the last event.
  watsonx: {
    ...{ hosts: ['ml.cloud.ibm.com'], key: 'WATSONX_API_KEY' },
    dialect: {
      ...{ streamOptions: false, thoughts: 'none', developer: false, textLists: false, strictTools: 'none' },
      efforts: ['low', 'medium', 'high'],
      ...{ refuses: [...OF_OPENAI, 'parallel_tool_calls'], refusesInMessages: ECHOES }
    }
  },
  // "Chat completions": max_tokens is deprecated in favour of max_completion_tokens; "Reasoning": words for effort.
  xai: {
    baseUrl: 'https://api.x.ai/v1',
    hosts: ['api.x.ai'],
    key: 'XAI_API_KEY',
    dialect: { efforts: ['none', 'low', 'medium', 'high'] }
  },
  // "Chat Completion": max_tokens, thinking, json_object; "Deep Thinking": words for effort; "Tool choice must be auto"
  // (hindsight #4246).
  zai: {
    baseUrl: 'https://api.z.ai/api/paas/v4',
    hosts: ['api.z.ai', 'open.bigmodel.cn'],
    key: 'ZAI_API_KEY',
    dialect: {
      ...OLD_LIMIT,
      developer: false,
      effort: 'thinking',
      efforts: ['low', 'high', 'max'],
      outputs: ['json_object'],
      forcedTool: 'none'
    }
  }
} as const satisfies Record<string, CompatibleService>

export type DialectName = keyof typeof COMPATIBLE

/** Names that a configuration may give to a dialect. */
export const DIALECTS = Object.keys(COMPATIBLE) as readonly DialectName[]
