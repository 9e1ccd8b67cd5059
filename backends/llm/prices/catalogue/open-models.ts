/** Providers that serve open models. */
import type { PriceList } from '#backends/llm/prices/list.ts'

const DATE = '2026-08-21'

const LISTS: readonly PriceList[] = [
  {
    provider: 'groq',
    source: 'https://groq.com/pricing/',
    date: DATE,
    lines: [
      ['llama-3.3-70b-versatile', { input: 0.59, output: 0.79 }],
      ['llama-3.1-8b-instant', { input: 0.05, output: 0.08 }],
      ['meta-llama/llama-4-maverick-17b-128e-instruct', { input: 0.2, output: 0.6 }],
      ['meta-llama/llama-4-scout-17b-16e-instruct', { input: 0.11, output: 0.34 }],
      ['meta-llama/llama-guard-4-12b', { input: 0.2, output: 0.2 }],
      ['openai/gpt-oss-120b', { input: 0.15, cacheRead: 0.075, output: 0.6 }],
      ['openai/gpt-oss-20b', { input: 0.075, cacheRead: 0.0375, output: 0.3 }],
      ['openai/gpt-oss-safeguard-20b', { input: 0.075, cacheRead: 0.037, output: 0.3 }],
      ['moonshotai/kimi-k2-instruct moonshotai/kimi-k2-instruct-0905', { input: 1, cacheRead: 0.5, output: 3 }],
      ['qwen/qwen3-32b', { input: 0.29, output: 0.59 }],
      ['deepseek-r1-distill-llama-70b', { input: 0.75, output: 0.99 }],
      ['gemma2-9b-it', { input: 0.2, output: 0.2 }]
    ]
  },
  {
    provider: 'cerebras',
    source: 'https://www.cerebras.ai/pricing',
    date: DATE,
    lines: [
      ['gpt-oss-120b', { input: 0.35, output: 0.75 }],
      ['llama-3.3-70b', { input: 0.85, output: 1.2 }],
      ['llama3.1-8b', { input: 0.1, output: 0.1 }],
      ['qwen-3-32b', { input: 0.4, output: 0.8 }],
      ['qwen-3-235b-a22b-instruct-2507 qwen-3-235b-a22b-thinking-2507', { input: 0.6, output: 1.2 }],
      ['qwen-3-coder-480b', { input: 2, output: 2 }],
      ['zai-glm-4.6 zai-glm-4.7', { input: 2.25, output: 2.75 }]
    ]
  },
  {
    provider: 'together',
    source: 'https://www.together.ai/pricing',
    date: DATE,
    lines: [
      [
        'meta-llama/llama-3.3-70b-instruct-turbo meta-llama/meta-llama-3.1-70b-instruct-turbo',
        { input: 0.88, output: 0.88 }
      ],
      ['meta-llama/meta-llama-3.1-405b-instruct-turbo', { input: 3.5, output: 3.5 }],
      ['meta-llama/meta-llama-3.1-8b-instruct-turbo', { input: 0.18, output: 0.18 }],
      ['meta-llama/llama-4-maverick-17b-128e-instruct-fp8', { input: 0.27, output: 0.85 }],
      ['meta-llama/llama-4-scout-17b-16e-instruct', { input: 0.18, output: 0.59 }],
      ['qwen/qwen2.5-72b-instruct-turbo', { input: 1.2, output: 1.2 }],
      ['qwen/qwen2.5-7b-instruct-turbo', { input: 0.3, output: 0.3 }],
      ['moonshotai/kimi-k2.6 moonshotai/kimi-k2.7-code', { input: 1.2, cacheRead: 0.2, output: 4.5 }],
      ['moonshotai/kimi-k2.5', { input: 0.5, output: 2.8 }],
      ['minimaxai/minimax-m2.7', { input: 0.3, cacheRead: 0.06, output: 1.2 }]
    ]
  },
  {
    provider: 'fireworks',
    source: 'https://fireworks.ai/pricing',
    date: DATE,
    lines: [
      ['deepseek-v4-pro', { input: 1.74, cacheRead: 0.145, output: 3.48 }],
      ['deepseek-v4-flash', { input: 0.14, cacheRead: 0.028, output: 0.28 }],
      ['deepseek-v3p2', { input: 0.56, cacheRead: 0.28, output: 1.68 }],
      ['glm-5p1', { input: 1.4, cacheRead: 0.26, output: 4.4 }],
      ['glm-5p2', { input: 1.4, cacheRead: 0.14, output: 4.4 }],
      ['gpt-oss-120b', { input: 0.15, cacheRead: 0.07, output: 0.6 }],
      ['gpt-oss-20b', { input: 0.07, cacheRead: 0.04, output: 0.3 }],
      ['kimi-k2p5', { input: 0.6, cacheRead: 0.1, output: 3 }],
      ['kimi-k2p6', { input: 0.95, cacheRead: 0.16, output: 4 }],
      ['kimi-k2p7-code', { input: 0.95, cacheRead: 0.19, output: 4 }],
      ['llama-v3p1-8b-instruct', { input: 0.2, output: 0.2 }],
      ['llama-v3p1-405b-instruct', { input: 3, output: 3 }],
      ['llama4-maverick-instruct-basic', { input: 0.22, output: 0.88 }],
      ['llama4-scout-instruct-basic', { input: 0.15, output: 0.6 }],
      ['minimax-m2p1', { input: 0.3, output: 1.2 }],
      ['minimax-m2p7 minimax-m3', { input: 0.3, cacheRead: 0.06, output: 1.2 }],
      ['qwen3p6-plus', { input: 0.5, cacheRead: 0.1, output: 3 }],
      ['qwen3p7-plus', { input: 0.4, cacheRead: 0.08, output: 1.6 }]
    ]
  }
]

export const openModelLists = (): readonly PriceList[] => LISTS
