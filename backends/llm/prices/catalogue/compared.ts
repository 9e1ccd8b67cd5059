/**
 * Models that both public collections have under this name, at this provider, with the prices of these lists for input,
 * output and what is read from a cache: compared by a program on the day of the lists (docs/prices.md). The others are
 * in one of them, differ, or are another name of a model that is.
 */
const COMPARED: Readonly<Record<string, string>> = {
  openai: `
    gpt-5.6 gpt-5.6-sol gpt-5.5 gpt-5.5-pro gpt-5.4 gpt-5.4-pro gpt-5.4-mini gpt-5.4-nano gpt-5.3-chat gpt-5.2
    gpt-5.2-chat gpt-5.2-codex gpt-5.3-codex gpt-5.2-pro gpt-5 gpt-5-chat gpt-5.1 gpt-5.1-chat gpt-5-codex
    gpt-5.1-codex gpt-5.1-codex-max gpt-5-pro gpt-5-mini gpt-5.1-codex-mini gpt-5-nano gpt-4.1 gpt-4.1-mini gpt-4o
    gpt-4o-mini gpt-4o-search-preview gpt-4o-mini-search-preview o1 o1-pro o1-mini o3-mini o3 o3-pro o4-mini
    o3-deep-research o4-mini-deep-research gpt-4-turbo gpt-4-0125-preview gpt-4-1106-preview gpt-4 gpt-3.5-turbo
    gpt-3.5-turbo-1106 gpt-3.5-turbo-instruct ft:gpt-4o ft:gpt-4o-mini ft:gpt-3.5-turbo text-embedding-3-small
    text-embedding-3-large text-embedding-ada-002 text-embedding-ada-002-v2 gpt-realtime-1.5 gpt-realtime-2
    gpt-realtime-mini gpt-4o-realtime-preview gpt-audio gpt-audio-1.5 gpt-audio-mini gpt-4o-audio-preview
    gpt-4o-mini-audio-preview gpt-4o-transcribe gpt-4o-transcribe-diarize gpt-4o-mini-transcribe
  `,
  azureopenai: `
    o1 o3-mini o3 text-embedding-3-small text-embedding-3-large text-embedding-ada-002
  `,
  anthropic: `
    claude-fable-5 claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5 claude-sonnet-4-6
    claude-sonnet-4-5 claude-haiku-4-5 claude-opus-4-1 claude-opus-4-0 claude-opus-4 claude-4-opus claude-3-opus
    claude-sonnet-4-0 claude-sonnet-4 claude-4-sonnet claude-3-7-sonnet claude-3-5-sonnet claude-3-sonnet
    claude-3-5-haiku claude-3-haiku
  `,
  gemini: `
    gemini-2.5-flash-lite gemini-2.0-flash gemini-2.0-flash-lite gemini-embedding-001
  `,
  vertexai: `
    gemini-3.6-flash gemini-3.5-flash gemini-3.5-flash-lite gemini-3.1-pro-preview gemini-3-pro-preview
    gemini-3.1-flash-lite gemini-3.1-flash-lite-preview gemini-3-flash-preview gemini-2.5-pro gemini-2.5-flash
    gemini-2.5-flash-lite gemini-2.0-flash-lite gemini-1.5-pro gemini-embedding-001 claude-fable-5 claude-opus-5
    claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-sonnet-4-6 claude-sonnet-4-5 claude-opus-4-1
    claude-opus-4 claude-3-opus claude-sonnet-4 claude-3-7-sonnet claude-3-5-sonnet claude-3-5-haiku
    claude-3-haiku
  `,
  bedrock: `
    global.anthropic.claude-fable-5 global.anthropic.claude-opus-5 global.anthropic.claude-opus-4-8
    global.anthropic.claude-opus-4-7 global.anthropic.claude-opus-4-6 global.anthropic.claude-sonnet-4-6
    amazon.titan-embed-text-v1 amazon.titan-text-express amazon.titan-text-lite deepseek.r1
    meta.llama4-maverick-17b-instruct meta.llama4-scout-17b-instruct meta.llama3-3-70b-instruct
    meta.llama3-1-70b-instruct meta.llama3-2-90b-instruct meta.llama3-1-8b-instruct meta.llama3-2-11b-instruct
    meta.llama3-2-3b-instruct meta.llama3-2-1b-instruct meta.llama3-70b-instruct
    mistral.mistral-large-3-675b-instruct openai.gpt-oss-120b-1:0 openai.gpt-oss-20b-1:0 qwen.qwen3-32b
    qwen.qwen3-coder-30b-a3b qwen.qwen3-coder-480b-a35b
  `,
  mistral: `
    mistral-large-2512 pixtral-large pixtral-large-2411 mistral-medium mistral-medium-2505 mistral-medium-2508
    magistral-medium magistral-small codestral devstral-2512 open-mistral-nemo pixtral-12b open-mistral-7b
    open-mixtral-8x7b mistral-embed
  `,
  deepseek: `
    deepseek-v4-flash deepseek-v4-pro
  `,
  xai: `
    grok-4.3 grok-4.20-multi-agent grok-4 grok-4-0709 grok-3 grok-code-fast-1 grok-code-fast grok-3-mini grok-2
    grok-2-1212 grok-2-vision grok-2-vision-1212
  `,
  cohere: `
    command-r-plus command-r command-r7b
  `,
  moonshot: `
    kimi-k3 kimi-k2.7-code kimi-k2.6 kimi-k2.5 kimi-k2-thinking kimi-k2-0905-preview kimi-k2-0711-preview
    kimi-k2-turbo-preview kimi-k2-thinking-turbo
  `,
  groq: `
    llama-3.3-70b-versatile llama-3.1-8b-instant meta-llama/llama-4-maverick-17b-128e-instruct
    meta-llama/llama-4-scout-17b-16e-instruct meta-llama/llama-guard-4-12b openai/gpt-oss-120b openai/gpt-oss-20b
    moonshotai/kimi-k2-instruct moonshotai/kimi-k2-instruct-0905 qwen/qwen3-32b deepseek-r1-distill-llama-70b
    gemma2-9b-it
  `,
  cerebras: `
    gpt-oss-120b llama-3.3-70b llama3.1-8b qwen-3-32b
  `,
  together: `
    meta-llama/llama-3.3-70b-instruct-turbo meta-llama/meta-llama-3.1-70b-instruct-turbo
    meta-llama/meta-llama-3.1-405b-instruct-turbo meta-llama/meta-llama-3.1-8b-instruct-turbo
    meta-llama/llama-4-maverick-17b-128e-instruct-fp8 meta-llama/llama-4-scout-17b-16e-instruct
  `,
  fireworks: `
    deepseek-v4-flash glm-5p1 kimi-k2p5 kimi-k2p6 kimi-k2p7-code llama4-maverick-instruct-basic minimax-m2p1
    minimax-m2p7 minimax-m3 qwen3p6-plus qwen3p7-plus
  `,
  perplexity: `
    sonar sonar-pro sonar-reasoning sonar-reasoning-pro r1-1776
  `
}

/** By provider. */
export const comparedModels = (): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(Object.entries(COMPARED).map(([provider, names]) => [provider, new Set(names.trim().split(/\s+/))]))
