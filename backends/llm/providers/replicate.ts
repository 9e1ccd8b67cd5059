/**
 * Replicate (HTTP API): models are asked for predictions, jobs that are waited for (predictions/prediction.ts). A model
 * is "owner/name"; with ":" and the id of a version it is that version, and "deployments/owner/name" is a deployment.
 */
import type { JsonObject } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { Makers } from './fields.ts'
import type { ProviderKind, ShortcutParams } from './kind.ts'
import type { Provider } from './provider.ts'

/** Names begin with a letter or digit, so that none is a step of a path. */
const MODEL = /^(?:(deployments)\/)?([A-Za-z0-9][\w.-]*)\/([A-Za-z0-9][\w.-]*)(?::([0-9a-f]{64}))?$/

const fields = ({ z, modelName }: Makers) => z.strictObject({ model: modelName() })

export const replicate: ProviderKind<{ readonly model?: string | undefined }, null> = {
  name: 'replicate',
  schema: fields,
  cacheMarks: 'never',
  shortcut: { names: ['replicate'], check: checked },
  compile
}

function checked({ baseUrl }: ShortcutParams) {
  const isWhole = typeof baseUrl !== 'string' || /^https?:\/\/[^/]+(?:\/|\/v1\/?)?$/.test(baseUrl)
  return isWhole ? null : { key: 'baseUrl', message: 'must be the address without a path: Replicate has its own' }
}

function compile(): Provider {
  return {
    name: 'replicate',
    host: 'api.replicate.com',
    formats: () => ['predictions'],
    target: (_, model) => targetOf(model),
    keyField: () => 'authorization',
    fields: [],
    adapt: (_, body) => withVersion(body)
  }
}

/** Throws FormatError. */
function targetOf(model: string): string {
  const [, deployments, owner, name, version] = MODEL.exec(model) ?? []
  if (owner === undefined || (deployments !== undefined && version !== undefined)) {
    const forms = '"owner/name", "owner/name:" with the id of a version, or "deployments/owner/name"'
    throw new FormatError('model', `of Replicate must be ${forms}`)
  }
  if (version !== undefined) return '/v1/predictions'
  return `/v1/${deployments ?? 'models'}/${owner}/${name!}/predictions`
}

/** The path has the model, but for a version. */
function withVersion({ model, ...body }: JsonObject): JsonObject {
  const version = typeof model === 'string' ? MODEL.exec(model)?.[4] : undefined
  return version === undefined ? body : { version, ...body }
}
