/** What stands on routes and backends in other words. */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { rewriteCrossAppAccess } from './cross-app-access.ts'
import { weirGuards } from './guards.ts'
import { rewriteInference, servicesOf } from './inference.ts'
import { tokenExchange } from './token-exchange.ts'

export function rewriteRoutes(draft: Draft, file: ForeignFile): void {
  const services = servicesOf(draft)
  for (const bind of entriesOf(draft.value.binds, ['binds'])) {
    for (const listener of entriesOf(bind.raw.listeners, [...bind.path, 'listeners'])) {
      rewriteCrossAppAccess(listener, draft, file)
      for (const route of entriesOf(listener.raw.routes, [...listener.path, 'routes'])) {
        rewriteInference(route, services, draft, file)
        rewriteRoute(route, draft, file)
      }
    }
  }
}

function rewriteRoute({ raw, path }: Placed, draft: Draft, file: ForeignFile): void {
  const at = [...path, 'policies']
  const policies = objectOf(raw.policies)
  rewriteAi(objectOf(policies.ai), [...at, 'ai'], draft, file)
  refuseByConditions(policies, [...at, 'directResponse'], draft, file)
  const backends = entriesOf(raw.backends, [...path, 'backends'])
  for (const backend of backends) rewriteBackend(backend, draft, file)
  // Whose token the backend is shown is found out ahead of the choice of one.
  const [only] = backends
  const own = backends.length === 1 ? objectOf(only!.raw.policies) : {}
  const exchanged = tokenExchange(
    objectOf(objectOf(own.backendAuth).oauthTokenExchange ?? objectOf(policies.backendAuth).oauthTokenExchange)
  )
  if (exchanged === null || policies.extAuthz !== undefined || policies.transformations !== undefined) return
  if (own.backendAuth === undefined) delete policies.backendAuth
  else delete own.backendAuth
  if (Object.keys(own).length === 0) delete only?.raw.policies
  raw.policies = { ...policies, ...exchanged }
}

/** `prompts`, and guards with rules. */
export function rewriteAi(ai: Raw, at: Path, draft: Draft, file: ForeignFile): void {
  if (ai.prompts !== undefined) ai.prompt = ai.prompts
  delete ai.prompts
  if (ai.promptGuard !== undefined)
    ai.promptGuard = weirGuards(objectOf(ai.promptGuard), [...at, 'promptGuard'], draft, file)
}

/** Errors under conditions: who meets one is refused, by authorization, with its own status. */
function refuseByConditions(policies: Raw, at: Path, draft: Draft, file: ForeignFile): void {
  const { conditional } = objectOf(policies.directResponse)
  const all = entriesOf(conditional, at)
  const areErrors = all.every(({ raw }) => typeof raw.condition === 'string' && Number(raw.status) >= 400)
  if (all.length === 0 || !areErrors || policies.authorization !== undefined) return
  delete policies.directResponse
  policies.authorization = { rules: all.map(({ raw }) => ({ deny: raw.condition })) }
  draft.note(file, at, 'who meets a condition gets 403, not the status and body of the file')
}

const ARN = /^arn:aws[a-z-]*:bedrock-agentcore:([a-z0-9-]+):/

function rewriteBackend({ raw, path }: Placed, draft: Draft, file: ForeignFile): void {
  const ai = objectOf(raw.ai)
  if (raw.ai !== undefined)
    rewriteAi(objectOf(objectOf(ai.policies).ai), [...path, 'ai', 'policies', 'ai'], draft, file)
  const { agentRuntimeArn, qualifier } = objectOf(objectOf(raw.aws).agentCore)
  const arn = text(agentRuntimeArn)
  const [, region] = ARN.exec(arn ?? '') ?? []
  if (arn === undefined || region === undefined) return
  delete raw.aws
  raw.host = `bedrock-agentcore.${region}.amazonaws.com:443`
  // InvokeAgentRuntime of Amazon Bedrock AgentCore.
  const query = text(qualifier) === undefined ? '' : `?qualifier=${encodeURIComponent(String(qualifier))}`
  raw.policies = {
    ...objectOf(raw.policies),
    urlRewrite: { path: { full: `/runtimes/${encodeURIComponent(arn)}/invocations${query}` } },
    backendTLS: {},
    backendAuth: objectOf(raw.policies).backendAuth ?? { aws: { region, service: 'bedrock-agentcore' } }
  }
}
