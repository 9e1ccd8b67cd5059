/** The providers, by what a configuration says. */
import type { AiProvider } from '#backends/llm/config/snapshot.ts'
import { anthropic } from './anthropic.ts'
import { azureopenai } from './azureopenai.ts'
import { bedrock } from './bedrock.ts'
import { gemini } from './gemini.ts'
import { custom, openai } from './openai.ts'
import type { Provider } from './provider.ts'
import { vertexai } from './vertexai.ts'

export type { Provider } from './provider.ts'

/** The provider that a configuration means. */
export function providerOf({ type, cloud, formats }: Pick<AiProvider, 'type' | 'cloud' | 'formats'>): Provider {
  if (cloud?.kind === 'azureopenai') return azureopenai(cloud.apiVersion)
  if (cloud?.kind === 'vertexai') return vertexai(cloud)
  if (cloud?.kind === 'bedrock') return bedrock(cloud)
  if (type === 'anthropic') return anthropic
  if (type === 'gemini') return gemini
  return type === 'openai' ? openai : custom(formats)
}
