/**
 * Amazon Bedrock, on demand. Newer models of Anthropic and Amazon cost a tenth more in a region, or in the regions of a
 * profile (us., eu., ...), than with the profile `global.`.
 */
import { type Line, type PriceList, times } from '#backends/llm/prices/list.ts'
import { CLAUDE_GLOBAL, CLAUDE_OLDER } from './anthropic.ts'

const REGIONAL = 110

const NOVA_2: readonly Line[] = [['amazon.nova-2-lite', { input: 0.3, cacheRead: 0.075, output: 2.5 }]]

const claude = (model: string): string => `anthropic.${model}`
const global = (model: string): string => `global.${model}`

const OTHERS: readonly Line[] = [
  ['amazon.nova-premier', { input: 2.5, cacheRead: 0.625, output: 12.5 }],
  ['amazon.nova-pro', { input: 0.8, cacheRead: 0.2, output: 3.2 }],
  ['amazon.nova-lite', { input: 0.06, cacheRead: 0.015, output: 0.24 }],
  ['amazon.nova-micro', { input: 0.035, cacheRead: 0.00875, output: 0.14 }],
  ['amazon.nova-sonic', { input: 0.06, inputAudio: 3.4, output: 0.24, outputAudio: 13.6 }],
  ['amazon.nova-2-sonic', { input: 0.33, inputAudio: 3, output: 2.75, outputAudio: 12 }],
  ['amazon.titan-embed-text-v1', { input: 0.1 }],
  ['amazon.titan-embed-text-v2:0', { input: 0.02 }],
  ['amazon.titan-text-express', { input: 0.2, output: 0.6 }],
  ['amazon.titan-text-lite', { input: 0.15, output: 0.2 }],
  ['cohere.command-r', { input: 0.5, output: 1.5 }],
  ['cohere.command-r-plus', { input: 3, output: 15 }],
  ['cohere.embed-english cohere.embed-multilingual', { input: 0.1 }],
  ['cohere.embed-v4:0', { input: 0.12 }],
  ['cohere.rerank-v3-5:0', { search: 0.002 }],
  ['deepseek.r1', { input: 1.35, output: 5.4 }],
  ['meta.llama4-maverick-17b-instruct', { input: 0.24, output: 0.97 }],
  ['meta.llama4-scout-17b-instruct', { input: 0.17, output: 0.66 }],
  ['meta.llama3-3-70b-instruct meta.llama3-1-70b-instruct meta.llama3-2-90b-instruct', { input: 0.72, output: 0.72 }],
  ['meta.llama3-1-8b-instruct', { input: 0.22, output: 0.22 }],
  ['meta.llama3-2-11b-instruct', { input: 0.16, output: 0.16 }],
  ['meta.llama3-2-3b-instruct', { input: 0.15, output: 0.15 }],
  ['meta.llama3-2-1b-instruct', { input: 0.1, output: 0.1 }],
  ['meta.llama3-70b-instruct', { input: 2.65, output: 3.5 }],
  ['meta.llama3-8b-instruct', { input: 0.3, output: 0.6 }],
  ['mistral.mistral-large-3-675b-instruct', { input: 0.5, output: 1.5 }],
  ['mistral.mistral-large', { input: 4, output: 12 }],
  ['mistral.mistral-small', { input: 1, output: 3 }],
  ['mistral.pixtral-large', { input: 2, output: 6 }],
  ['mistral.mistral-7b-instruct', { input: 0.15, output: 0.2 }],
  ['mistral.mixtral-8x7b-instruct', { input: 0.45, output: 0.7 }],
  ['openai.gpt-5.5', { input: 5.5, cacheRead: 0.55, output: 33 }],
  ['openai.gpt-5.4', { input: 2.75, cacheRead: 0.275, output: 16.5 }],
  ['openai.gpt-oss-120b-1:0', { input: 0.15, output: 0.6 }],
  ['openai.gpt-oss-20b-1:0', { input: 0.07, output: 0.3 }],
  ['qwen.qwen3-32b qwen.qwen3-coder-30b-a3b', { input: 0.15, output: 0.6 }],
  ['qwen.qwen3-coder-480b-a35b', { input: 0.45, output: 1.8 }]
]

export const amazonList = (): PriceList => ({
  provider: 'bedrock',
  source: 'https://aws.amazon.com/bedrock/pricing/',
  date: '2026-08-21',
  lines: [
    ...times(CLAUDE_GLOBAL(), 100, (model) => global(claude(model))),
    ...times(CLAUDE_GLOBAL(), REGIONAL, claude),
    ...times(CLAUDE_OLDER(), 100, claude),
    ...times(NOVA_2, 100, global),
    ...times(NOVA_2, REGIONAL, (model) => model),
    ...OTHERS
  ]
})
