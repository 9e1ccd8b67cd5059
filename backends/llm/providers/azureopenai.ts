/**
 * OpenAI's models on Azure. Sources: "Azure OpenAI in Azure AI Foundry Models v1 API" and "REST API reference" of
 * Microsoft's documentation. v1 has OpenAI's paths below /openai and the deployment as the body's model; versions that
 * are dates have the deployment in the path, but for responses.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import { isJwt, type Provider, segment } from './provider.ts'

const PATHS: Partial<Record<FormatName, string>> = { completions: '/chat/completions', responses: '/responses' }

export function azureopenai(apiVersion: string): Provider {
  return {
    name: 'azure.ai.openai',
    // The configuration always has the resource's.
    host: '',
    formats: () => ['completions', 'responses'],
    target: (format, model) => {
      const path = PATHS[format]!
      if (apiVersion === 'v1') return `/openai/v1${path}`
      if (apiVersion === 'preview') return `/openai/v1${path}?api-version=preview`
      const deployment = format === 'responses' ? '' : `/deployments/${segment(model)}`
      return `/openai${deployment}${path}?api-version=${apiVersion}`
    },
    // Tokens of Entra ID are told from the resource's keys by what they look like.
    keyField: (key) => (isJwt(key) ? 'authorization' : 'api-key'),
    fields: []
  }
}
