/** Providers of answers with searches, of embeddings and of ranking. */
import type { PriceList } from '#backends/llm/prices/list.ts'

const DATE = '2026-08-21'

export const searchLists = (): readonly PriceList[] => [
  {
    // It tells what a call has cost in its answers, which goes ahead. Of a request: for the largest search context.
    provider: 'perplexity',
    source: 'https://docs.perplexity.ai/guides/pricing',
    date: DATE,
    lines: [
      ['sonar', { input: 1, output: 1, request: 0.012 }],
      ['sonar-pro', { input: 3, output: 15, request: 0.014 }],
      ['sonar-reasoning', { input: 1, output: 5, request: 0.012 }],
      ['sonar-reasoning-pro', { input: 2, output: 8, request: 0.014 }],
      ['r1-1776', { input: 2, output: 8 }]
    ]
  },
  {
    provider: 'voyage',
    source: 'https://docs.voyageai.com/docs/pricing',
    date: DATE,
    lines: [
      ['voyage-4-large', { input: 0.12 }],
      ['voyage-4 voyage-3.5 voyage-3', { input: 0.06 }],
      ['voyage-4-lite voyage-3.5-lite voyage-3-lite', { input: 0.02 }],
      ['voyage-3-large voyage-code-3 voyage-context-3', { input: 0.18 }],
      ['voyage-finance-2 voyage-law-2 voyage-multilingual-2 voyage-code-2 voyage-large-2', { input: 0.12 }]
    ]
  },
  {
    provider: 'jina',
    source: 'https://jina.ai/embeddings/',
    date: DATE,
    lines: [
      ['jina-embeddings-v2-base-* jina-colbert-v2 jina-colbert-v1-en', { input: 0.02 }],
      ['jina-reranker-v2-base-multilingual jina-reranker-v1-base-en', { input: 0.02 }],
      ['jina-reranker-v3', { input: 0.05 }]
    ]
  }
]
