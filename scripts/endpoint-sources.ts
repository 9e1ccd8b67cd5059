/**
 * Where it is known from what a service has: pages of its reference by their titles, or files of its own client. What
 * has no page here is shown as "not cited" in docs/llm-endpoints.md.
 */

/** Of docs/llm-endpoints.md. */
export type Column =
  | 'chat'
  | 'texts'
  | 'embeddings'
  | 'rerank'
  | 'transcriptions'
  | 'speech'
  | 'images'
  | 'moderations'
  | 'stored'
  | 'realtime'

export interface Source {
  readonly page: string
  /** What it says something of; "all": it lists all that there is, and so what there is not. */
  readonly of: 'all' | readonly Column[]
}

export const SOURCES: Readonly<Record<string, readonly Source[]>> = {
  openai: [{ page: 'API reference; resources of openai 6.49 (npm)', of: 'all' }],
  azureopenai: [{ page: '"Azure OpenAI in Azure AI Foundry Models v1 API", "REST API reference"', of: ['chat'] }],
  anthropic: [{ page: 'API reference; resources of @anthropic-ai/sdk 1.12', of: 'all' }],
  gemini: [
    {
      page: 'ai.google.dev, "Embeddings", "Speech generation", "Image generation"',
      of: ['embeddings', 'speech', 'images']
    },
    { page: '@google/genai 2.32: Models, Files, Caches, Batches', of: ['chat', 'stored'] }
  ],
  vertexai: [
    {
      page: 'Vertex AI, "Generate content", "Text embeddings API", "Ranking API", "Speech generation", "Image generation"',
      of: ['chat', 'embeddings', 'rerank', 'speech', 'images']
    }
  ],
  bedrock: [
    { page: 'Amazon Bedrock, "Converse", "Amazon Titan Embeddings Text", "Cohere Embed"', of: ['chat', 'embeddings'] },
    { page: 'Amazon Bedrock, "Use a reranker model"', of: ['rerank'] }
  ],
  alibaba: [{ page: 'Model Studio, "OpenAI compatible - Chat", "Text rerank API"', of: ['chat', 'rerank'] }],
  cerebras: [{ page: '"OpenAI Compatibility"', of: ['chat'] }],
  cohere: [
    {
      page: '"Using Cohere models via the OpenAI SDK"; "Chat", "Embed", "Rerank"',
      of: ['chat', 'embeddings', 'rerank']
    }
  ],
  databricks: [{ page: '"Foundation model REST API reference"', of: ['chat'] }],
  deepinfra: [{ page: '"Qwen3-Reranker: HTTP/cURL API"', of: ['rerank'] }],
  deepseek: [{ page: '"Create Chat Completion", "Thinking mode"', of: ['chat'] }],
  fireworks: [
    { page: '"Create Chat Completion", "Rerank documents"', of: ['chat', 'rerank'] },
    { page: 'docs.fireworks.ai/responses.openapi.yaml: responses are listed, read and deleted', of: ['stored'] }
  ],
  groq: [
    { page: '"OpenAI Compatibility", "Reasoning"', of: ['chat'] },
    { page: 'groq-typescript, api.md and src/resources/files.ts', of: ['embeddings', 'transcriptions', 'stored'] }
  ],
  huggingface: [
    { page: 'hub-docs, "Inference Providers": its endpoint in OpenAI\'s format is for chat only', of: 'all' }
  ],
  jina: [{ page: '"Embeddings", "Reranker API"', of: ['embeddings', 'rerank'] }],
  lmstudio: [{ page: '"OpenAI Compatibility Endpoints"', of: ['chat'] }],
  mistral: [
    { page: '"Chat Completion Endpoints", "Audio speech"', of: ['chat', 'speech'] },
    { page: 'docs.mistral.ai/studio-api/batch-processing: files of batches, by the Files API', of: ['stored'] }
  ],
  moonshot: [{ page: '"Migrating from OpenAI to Kimi API"', of: ['chat'] }],
  nvidia: [{ page: '"LLM APIs"; NIM for retrieval, "Reranking API"', of: ['chat', 'rerank'] }],
  ollama: [{ page: 'docs.ollama.com, "OpenAI compatibility"', of: ['chat', 'texts', 'embeddings', 'images'] }],
  openrouter: [{ page: '"Parameters"', of: ['chat'] }],
  ovhcloud: [{ page: 'public-cloud-roadmap #1162', of: ['chat'] }],
  perplexity: [{ page: '"Chat Completions"', of: ['chat'] }],
  sambanova: [{ page: '"OpenAI compatible API"', of: ['chat'] }],
  sglang: [{ page: '"OpenAI APIs - Completions"', of: ['chat', 'texts'] }],
  snowflake: [{ page: '"Cortex REST API"', of: ['chat'] }],
  tei: [{ page: 'text-embeddings-inference, openapi.json', of: ['rerank'] }],
  together: [{ page: 'together-typescript, api.md', of: 'all' }],
  vllm: [{ page: 'protocol.py', of: ['chat'] }],
  voyage: [
    { page: '"Embeddings", "Rerank"', of: ['embeddings', 'rerank'] },
    { page: 'docs.voyageai.com/reference/files-2, "Upload file": for batches', of: ['stored'] }
  ],
  watsonx: [{ page: '"Infer text"', of: ['chat'] }],
  xai: [
    { page: '"Chat completions", "Reasoning"', of: ['chat'] },
    { page: 'docs.x.ai/developers/files/managing-files', of: ['stored'] }
  ],
  zai: [{ page: '"Chat Completion", "Deep Thinking"', of: ['chat'] }]
}

export function isCited(name: string, column: Column): boolean {
  return (SOURCES[name] ?? []).some(({ of }) => of === 'all' || of.includes(column))
}
