/** Moderation as a guard (docs/specification.md#prompt-guards): the schema, and the server that it asks. */

import type { AiModerationGuard } from '#backends/llm/config/snapshot.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import type { ServiceRef } from '#engine/contract/service.ts'
import { path } from '#engine/schema/http.ts'
import { host, port } from '#engine/schema/net.ts'
import { text } from '#engine/schema/placed.ts'
import { shortString, z } from '#engine/schema/schema.ts'
import { eitherPlace, type GuardService, serverAt, serviceFields } from './guard-services.ts'

const HOST = 'api.openai.com'
const PATH = '/v1/moderations'
const MODEL = 'omni-moderation-latest'

export const moderation = <Common extends Readonly<Record<string, z.ZodOptional>>>(common: Common) => {
  const { backendRef, policies } = serviceFields()
  return z
    .strictObject({
      model: shortString().optional().describe(`Default ${MODEL}.`),
      backendRef,
      host: host().optional().describe("Default: OpenAI's own."),
      port: port().optional().describe('Default 443, without TLS 80.'),
      path: path().optional().describe(`Default ${PATH}.`),
      policies,
      ...common
    })
    .check(eitherPlace(['host', 'port', 'policies']))
}

/** Of its schema; policies by the names that were given. */
export interface FileModeration {
  readonly model?: string | undefined
  readonly backendRef?: { readonly name: string } | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly policies?: Readonly<Record<string, unknown>> | undefined
}

export const moderationService: GuardService = { host: (guard) => text(guard.host) ?? HOST }

/** Throws a FieldError (checkGuardServices has said where). */
export function translateModeration(
  file: FileModeration,
  sources: DocumentSources
): Pick<AiModerationGuard, 'kind' | 'server' | 'path' | 'model'> {
  const { path: own = PATH, model = MODEL } = file
  return { kind: 'moderation', server: serverOf(file, sources), path: own, model }
}

function serverOf({ backendRef: ref, ...file }: FileModeration, sources: DocumentSources): ServiceRef {
  if (ref !== undefined) return { name: ref.name, at: ['openAIModeration', 'backendRef', 'name'] }
  const { host: own, port: at, policies } = file
  // OpenAI is asked with TLS, whatever is said.
  return serverAt({ host: own ?? HOST, port: at, isSecure: own === undefined, policies }, sources)
}
