/**
 * OpenAI's models on Azure. Sources: "Azure OpenAI in Azure AI Foundry Models v1 API" and "REST API reference" of
 * Microsoft's documentation. v1 has OpenAI's paths below /openai and the deployment as the body's model; versions that
 * are dates have the deployment in the path, but for responses.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import type { Makers, Output } from './fields.ts'
import type { ProviderKind } from './kind.ts'
import { isJwt, type Provider, segment } from './provider.ts'

const API_VERSION = /^(?:v1|preview|\d{4}-\d{2}-\d{2}(?:-preview)?)$/
const ENDPOINT_EXPECTED = 'must be the host of a resource, such as "name.openai.azure.com", without a path'

/** A scheme is dropped (docs/specification.md#llm-backends). */
const endpoint = ({ z, shortString }: Makers) =>
  shortString().transform((text, context): { readonly host: string; readonly port: number | null } => {
    const authority = parseAuthority(text.replace(/^https?:\/\//i, '').replace(/\/$/, ''))
    if (authority !== null) return { host: authority.host.toLowerCase(), port: authority.port }
    context.addIssue({ code: 'custom', message: ENDPOINT_EXPECTED })
    return z.NEVER
  })

const fields = (make: Makers) =>
  make.z
    .strictObject({
      endpoint: endpoint(make).describe('Host of the resource: name.openai.azure.com.'),
      deploymentName: make.shortString().optional().describe('Instead of the model that the request names.'),
      apiVersion: make
        .filledIn(make.tinyString().regex(API_VERSION, 'must be v1, preview or a date such as 2024-10-21'), 'v1')
        .optional()
        .describe('Default v1.')
    })
    .refine(({ apiVersion = 'v1', deploymentName }) => apiVersion === 'v1' || deploymentName !== undefined, {
      params: make.cel("!has(self.apiVersion) || self.apiVersion == 'v1' || has(self.deploymentName)"),
      when: make.sound('apiVersion'),
      path: ['deploymentName'],
      error: 'is required when apiVersion is not v1'
    })

/** `apiVersion`: "v1", "preview" or a date. */
type Cloud = { readonly kind: 'azureopenai'; readonly apiVersion: string }

export const azureopenai: ProviderKind<Output<typeof fields>, Cloud> = {
  name: 'azureopenai',
  schema: fields,
  hasDialect: true,
  cacheMarks: 'never',
  shortcut: {
    names: ['azure', 'azureopenai'],
    params: {
      azureResourceName: {
        schema: ({ matching }) => matching(/^[A-Za-z0-9-]+$/).describe('Of azure: the first part of its host.'),
        isNeeded: true
      },
      azureApiVersion: { schema: ({ matching }) => matching(API_VERSION).describe('Of azure. Default v1.') }
    },
    check: ({ azureApiVersion = 'v1', model }) =>
      azureApiVersion === 'v1' || model !== undefined
        ? null
        : { key: 'azureApiVersion', message: 'needs params.model, the name of the deployment' },
    fields: ({ azureResourceName, azureApiVersion, model }) => ({
      endpoint: { host: `${azureResourceName}.openai.azure.com`.toLowerCase(), port: null },
      deploymentName: model,
      apiVersion: azureApiVersion
    })
  },
  translate: ({ endpoint, deploymentName, apiVersion = 'v1' }) => ({
    endpoint,
    model: deploymentName,
    cloud: { kind: 'azureopenai', apiVersion }
  }),
  compile: ({ cloud }) => compile(cloud)
}

const PATHS: Partial<Record<FormatName, string>> = { completions: '/chat/completions', responses: '/responses' }

function compile({ apiVersion }: Cloud): Provider {
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
    // Tokens of Entra ID and the resource's keys differ by their form.
    keyField: (key) => (isJwt(key) ? 'authorization' : 'api-key'),
    fields: []
  }
}
