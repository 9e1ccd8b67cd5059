/**
 * The providers, as files list them. To add one: its file here, and its line. One that speaks OpenAI's chat completions
 * and takes a key is a row of compatible.ts.
 */
import type { AiProvider } from '#backends/llm/config/snapshot.ts'
import { anthropic } from './anthropic.ts'
import { azureopenai } from './azureopenai.ts'
import { bedrock } from './bedrock.ts'
import { cohere } from './cohere.ts'
import { gemini } from './gemini.ts'
import type { ProviderKind } from './kind.ts'
import { custom, openai } from './openai.ts'
import type { Provider } from './provider.ts'
import { replicate } from './replicate.ts'
import { sagemaker } from './sagemaker.ts'
import { vertexai } from './vertexai.ts'
import { watsonx } from './watsonx.ts'

export const PROVIDERS: readonly ProviderKind[] = [
  openai,
  azureopenai,
  anthropic,
  gemini,
  vertexai,
  bedrock,
  cohere,
  watsonx,
  sagemaker,
  replicate,
  custom
]

const BY_NAME: ReadonlyMap<string, ProviderKind> = new Map(PROVIDERS.map((kind) => [kind.name, kind]))

export const providerKind = (name: string): ProviderKind | undefined => BY_NAME.get(name)

/** What workers need to know of the provider that a configuration means. */
export function compileProvider(settings: Pick<AiProvider, 'type' | 'cloud' | 'formats'>): Provider {
  return BY_NAME.get(settings.type)!.compile(settings)
}
