/**
 * Guards of clouds (docs/specification.md#prompt-guards): the schemas, and what is asked where. Sources: ApplyGuardrail
 * of the Amazon Bedrock Runtime API; "Text Operations" of Azure AI Content Safety, version 2024-09-01;
 * projects.locations.templates of Google's Model Armor API, v1.
 */

import type { AiCloudGuard } from '#backends/llm/config/snapshot.ts'
import { awsRegion, type FileAuth } from '#engine/contract/backend-auth/schema.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import type { ServiceRef } from '#engine/contract/service.ts'
import { reveal } from '#engine/kit/secret.ts'
import { exactlyOne } from '#engine/schema/choice.ts'
import { text } from '#engine/schema/placed.ts'
import { list, tinyString, whole, z } from '#engine/schema/schema.ts'
import { authOf, eitherPlace, type GuardService, serverAt, serviceFields } from './guard-services.ts'

type Common = Readonly<Record<string, z.ZodOptional>>

const GUARDRAIL = /^(?:[a-z0-9-]+|arn:aws(?:-[^:/?#]+)?:[a-z]+:[a-z0-9-]{1,20}:[0-9]{12}:guardrail\/[a-z0-9]+)$/
const AZURE_HOST =
  /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:cognitiveservices\.azure\.(?:com|us|cn)|api\.cognitive\.microsoft\.com)$/
const BLOCKLISTS_MAX = 10
const SEVERITY = 2
const SEVERITY_MAX = 7
/** Where keys of Azure's resources go, when they are no tokens. */
const AZURE_KEY_HEADER = 'ocp-apim-subscription-key'
const CATEGORIES = ['Hate', 'SelfHarm', 'Sexual', 'Violence'] as const

/** A name that stands in a path as it is. */
const segment = (what: string) =>
  z.string().regex(/^[A-Za-z0-9_-]{1,63}$/, `must be ${what}: letters, digits, "-" and "_"`)

const bedrockGuardrails = <C extends Common>(common: C) =>
  z
    .strictObject({
      guardrailIdentifier: z.string().max(2048).regex(GUARDRAIL, 'must be the id or the ARN of a guardrail'),
      guardrailVersion: z.string().regex(/^(?:[1-9][0-9]{0,7}|DRAFT)$/, 'must be a number, or DRAFT'),
      region: awsRegion().optional().describe('Where it is asked.'),
      ...serviceFields(),
      ...common
    })
    .check(exactlyOne(['region', 'backendRef']))
    .check(eitherPlace(['policies']))

const analyzeText = () =>
  z
    .strictObject({
      severityThreshold: whole(1, SEVERITY_MAX).optional().describe(`From which one is rejected. Default ${SEVERITY}.`),
      categories: list(z.enum(CATEGORIES), 1, CATEGORIES.length).optional().describe('Default: all.'),
      blocklistNames: list(tinyString(), 1, BLOCKLISTS_MAX).optional().describe('A hit rejects.'),
      haltOnBlocklistHit: z.boolean().optional().describe('Nothing else is analysed then.'),
      outputType: z.enum(['FourSeverityLevels', 'EightSeverityLevels']).optional().describe('Default four: 0, 2, 4, 6.')
    })
    .optional()
    .describe('Harm by category and severity.')

const azure = <C extends Common, Asks extends Common>(common: C, asks: Asks) =>
  z
    .strictObject({
      endpoint: z
        .string()
        .max(253)
        .regex(AZURE_HOST, 'must be the host of a resource, such as name.cognitiveservices.azure.com')
        .optional()
        .describe('The host of the resource.'),
      ...asks,
      ...serviceFields(),
      ...common
    })
    .check(exactlyOne(['endpoint', 'backendRef']))
    .check(eitherPlace(['policies']))

const detectJailbreak = () => z.strictObject({}).optional().describe('Attacks in prompts (Prompt Shields).')

const modelArmor = <C extends Common>(common: C) =>
  z
    .strictObject({
      templateId: segment('the id of a template'),
      projectId: segment('the id of a project'),
      location: segment('a location, such as us-central1').describe('Of the template.'),
      ...serviceFields(),
      ...common
    })
    .check(eitherPlace(['policies']))

/** Choices of a guard of requests. */
export const cloudGuards = <C extends Common>(common: C) => ({
  ...cloudGuardsOfAnswers(common),
  azureContentSafety: azure(common, { analyzeText: analyzeText(), detectJailbreak: detectJailbreak() })
    .optional()
    .describe('Azure AI Content Safety.')
})

export const cloudGuardsOfAnswers = <C extends Common>(common: C) => ({
  bedrockGuardrails: bedrockGuardrails(common).optional().describe('A guardrail of Amazon Bedrock (ApplyGuardrail).'),
  azureContentSafety: azure(common, { analyzeText: analyzeText() }).optional().describe('Azure AI Content Safety.'),
  googleModelArmor: modelArmor(common).optional().describe("A template of Google's Model Armor.")
})

const BEDROCK = (region: string): string =>
  `bedrock-runtime.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
const ARMOR = (location: string): string => `modelarmor.${location}.rep.googleapis.com`

export const CLOUD_SERVICES: Readonly<Record<string, GuardService>> = {
  bedrockGuardrails: { host: (guard) => BEDROCK(text(guard.region) ?? '') },
  azureContentSafety: {
    host: (guard) => text(guard.endpoint) ?? '',
    problem: (guard) => {
      if (guard.analyzeText === undefined && guard.detectJailbreak === undefined)
        return 'must have analyzeText or, of requests, detectJailbreak'
      return guard.backendRef === undefined && authOf(guard.policies) === undefined
        ? 'needs policies.auth: the key of the resource, or a token as "Bearer ..."'
        : null
    }
  },
  googleModelArmor: { host: (guard) => ARMOR(text(guard.location) ?? '') }
}

interface FileService {
  readonly backendRef?: { readonly name: string } | undefined
  readonly policies?: Readonly<Record<string, unknown>> | undefined
}

/** As the schemas give them: one of them is there. */
export interface FileCloudGuards {
  readonly bedrockGuardrails?:
    | (FileService & {
        readonly guardrailIdentifier: string
        readonly guardrailVersion: string
        readonly region?: string | undefined
      })
    | undefined
  readonly azureContentSafety?:
    | (FileService & {
        readonly endpoint?: string | undefined
        readonly analyzeText?: ({ readonly severityThreshold?: number | undefined } & object) | undefined
        readonly detectJailbreak?: object | undefined
      })
    | undefined
  readonly googleModelArmor?:
    | (FileService & { readonly templateId: string; readonly projectId: string; readonly location: string })
    | undefined
}

type CloudParts = Pick<AiCloudGuard, 'kind' | 'asks' | 'server'>

/** Null: none of them is there. Throws a FieldError (checkGuardServices has said where). */
export function translateCloudGuard(file: FileCloudGuards, sources: DocumentSources): CloudParts | null {
  const { bedrockGuardrails: guardrail, azureContentSafety: safety, googleModelArmor: armor } = file
  if (guardrail !== undefined) {
    const { guardrailIdentifier: id, guardrailVersion: version, region = '' } = guardrail
    const path = `/guardrail/${encodeURIComponent(id)}/version/${version}/apply`
    const auth: FileAuth = { aws: {} }
    const server = serverOf('bedrockGuardrails', guardrail, { host: BEDROCK(region), auth }, sources)
    return { kind: 'cloud', asks: { cloud: 'guardrail', path }, server }
  }
  if (safety !== undefined) {
    const { severityThreshold = SEVERITY, ...fields } = safety.analyzeText ?? {}
    const analyze = safety.analyzeText === undefined ? null : { severity: severityThreshold, fields }
    const asks = { cloud: 'contentSafety', analyze, shields: safety.detectJailbreak !== undefined } as const
    const place = { host: safety.endpoint ?? '', auth: undefined }
    return { kind: 'cloud', asks, server: withAzureKey(serverOf('azureContentSafety', safety, place, sources)) }
  }
  if (armor === undefined) return null
  const { templateId, projectId, location } = armor
  const path = `/v1/projects/${projectId}/locations/${location}/templates/${templateId}`
  const auth: FileAuth = { gcp: {} }
  const server = serverOf('googleModelArmor', armor, { host: ARMOR(location), auth }, sources)
  return { kind: 'cloud', asks: { cloud: 'modelArmor', path }, server }
}

function serverOf(
  key: string,
  { backendRef: ref, policies }: FileService,
  { host, auth }: { readonly host: string; readonly auth: FileAuth | undefined },
  sources: DocumentSources
): ServiceRef {
  if (ref !== undefined) return { name: ref.name, at: [key, 'backendRef', 'name'] }
  const shown = authOf(policies) === undefined && auth !== undefined ? { ...policies, auth } : policies
  return serverAt({ host, isSecure: true, policies: shown }, sources)
}

/** A key of a resource has a field of its own; what has a scheme is a token. */
function withAzureKey(server: ServiceRef): ServiceRef {
  if (!('host' in server) || server.auth?.kind !== 'key' || server.auth.location !== null) return server
  const { auth } = server
  if (reveal(auth.key).includes(' ')) return server
  return { ...server, auth: { ...auth, location: { header: AZURE_KEY_HEADER, prefix: '' } } }
}
