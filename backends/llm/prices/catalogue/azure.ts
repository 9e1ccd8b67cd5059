/** Azure OpenAI, global deployments: text costs what it does at OpenAI. Deployments are found by the model's name. */
import type { PriceList } from '#backends/llm/prices/list.ts'
import { OPENAI_CHAT, OPENAI_EMBEDDINGS } from './openai.ts'

export const azureList = (): PriceList => ({
  provider: 'azureopenai',
  source: 'https://azure.microsoft.com/pricing/details/cognitive-services/openai-service/',
  date: '2026-08-21',
  lines: [...OPENAI_CHAT, ...OPENAI_EMBEDDINGS]
})
