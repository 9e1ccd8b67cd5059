/** Providers with models of their own. */
import type { PriceList } from '#backends/llm/prices/list.ts'

const DATE = '2026-08-21'

const LISTS: readonly PriceList[] = [
  {
    provider: 'mistral',
    source: 'https://mistral.ai/pricing#api-pricing',
    date: DATE,
    lines: [
      ['mistral-large mistral-large-2512', { input: 0.5, cacheRead: 0.05, output: 1.5 }],
      ['mistral-large-2411 mistral-large-2407 pixtral-large pixtral-large-2411', { input: 2, output: 6 }],
      ['mistral-medium mistral-medium-2505 mistral-medium-2508', { input: 0.4, output: 2 }],
      ['mistral-small mistral-small-2506 mistral-small-2503 mistral-small-2501', { input: 0.1, output: 0.3 }],
      ['mistral-small-2603', { input: 0.15, cacheRead: 0.015, output: 0.6 }],
      ['magistral-medium', { input: 2, output: 5 }],
      ['magistral-small', { input: 0.5, output: 1.5 }],
      ['ministral-3b', { input: 0.1, cacheRead: 0.01, output: 0.1 }],
      ['ministral-8b', { input: 0.15, output: 0.15 }],
      ['ministral-14b', { input: 0.2, cacheRead: 0.02, output: 0.2 }],
      ['codestral', { input: 0.3, cacheRead: 0.03, output: 0.9 }],
      ['devstral devstral-medium devstral-2512', { input: 0.4, cacheRead: 0.04, output: 2 }],
      ['devstral-small labs-devstral-small', { input: 0.1, output: 0.3 }],
      ['open-mistral-nemo mistral-tiny pixtral-12b', { input: 0.15, output: 0.15 }],
      ['open-mistral-7b', { input: 0.25, output: 0.25 }],
      ['open-mixtral-8x7b', { input: 0.7, output: 0.7 }],
      ['open-mixtral-8x22b', { input: 2, output: 6 }],
      ['voxtral-small', { input: 0.1, output: 0.3 }],
      ['mistral-embed', { input: 0.1 }],
      ['codestral-embed', { input: 0.15 }]
    ]
  },
  {
    // The times of day had prices of their own until September 2025.
    provider: 'deepseek',
    source: 'https://api-docs.deepseek.com/quick_start/pricing',
    date: DATE,
    lines: [
      ['deepseek-chat deepseek-reasoner deepseek-v4-flash', { input: 0.14, cacheRead: 0.0028, output: 0.28 }],
      ['deepseek-v4-pro', { input: 0.435, cacheRead: 0.003625, output: 0.87 }]
    ]
  },
  {
    // It tells what a call has cost in its answers, which goes ahead.
    provider: 'xai',
    source: 'https://docs.x.ai/docs/models',
    date: DATE,
    lines: [
      ['grok-4.5', { input: 2, cacheRead: 0.5, output: 6 }],
      ['grok-4.3 grok-4.20 grok-4.20-reasoning grok-4.20-non-reasoning', { input: 1.25, cacheRead: 0.2, output: 2.5 }],
      ['grok-4.20-multi-agent', { input: 2, cacheRead: 0.2, output: 6 }],
      ['grok-4 grok-4-0709 grok-3', { input: 3, cacheRead: 0.75, output: 15 }],
      ['grok-4-1-fast* grok-4-fast*', { input: 0.2, cacheRead: 0.05, output: 0.5 }],
      ['grok-code-fast-1 grok-code-fast', { input: 0.2, cacheRead: 0.02, output: 1.5 }],
      ['grok-3-mini', { input: 0.3, cacheRead: 0.075, output: 0.5 }],
      ['grok-2 grok-2-1212 grok-2-vision grok-2-vision-1212', { input: 2, output: 10 }]
    ]
  },
  {
    provider: 'cohere',
    source: 'https://cohere.com/pricing',
    date: DATE,
    lines: [
      ['command-a command-a-03-2025 command-r-plus command-r-plus-08-2024', { input: 2.5, output: 10 }],
      ['command-r command-r-08-2024', { input: 0.15, output: 0.6 }],
      ['command-r7b command-r7b-12-2024', { input: 0.0375, output: 0.15 }],
      ['embed-v4.0', { input: 0.12 }],
      ['embed-english-v3.0 embed-multilingual-v3.0', { input: 0.1 }],
      ['rerank-v3.5 rerank-english-v3.0 rerank-multilingual-v3.0 rerank-v4.0-fast', { search: 0.002 }],
      ['rerank-v4.0-pro', { search: 0.0025 }]
    ]
  },
  {
    provider: 'moonshot',
    source: 'https://platform.moonshot.ai/docs/pricing/chat',
    date: DATE,
    lines: [
      ['kimi-k3', { input: 3, cacheRead: 0.3, output: 15 }],
      ['kimi-k2.7-code', { input: 0.95, cacheRead: 0.19, output: 4 }],
      ['kimi-k2.6', { input: 0.95, cacheRead: 0.16, output: 4 }],
      ['kimi-k2.5', { input: 0.6, cacheRead: 0.1, output: 3 }],
      ['kimi-k2-thinking kimi-k2-0905-preview kimi-k2-0711-preview', { input: 0.6, cacheRead: 0.15, output: 2.5 }],
      ['kimi-k2-turbo-preview kimi-k2-thinking-turbo', { input: 1.15, cacheRead: 0.15, output: 8 }]
    ]
  }
]

export const chatLists = (): readonly PriceList[] => LISTS
