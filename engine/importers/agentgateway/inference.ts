/**
 * `inferenceRouting` of a backend: an endpoint picker (Gateway API Inference Extension) says which address of a service
 * gets a request. Here the policy extProc asks it, and a pool follows it, but only to the endpoints that the pool has.
 */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'

/** The services of the file by "namespace/name", for all backends. */
export type Services = ReadonlyMap<string, Raw>

export function servicesOf(draft: Draft): Services {
  const all = entriesOf(draft.value.services, ['services'])
  delete draft.value.services
  return new Map(all.map(({ raw }) => [`${text(raw.namespace) ?? 'default'}/${text(raw.name)}`, raw]))
}

/** What is not understood stays, and is refused by name. */
export function rewriteInference(route: Placed, services: Services, draft: Draft, file: ForeignFile): void {
  const [only, ...others] = entriesOf(route.raw.backends, [...route.path, 'backends'])
  const policies = objectOf(route.raw.policies)
  if (only === undefined || others.length > 0 || policies.extProc !== undefined) return
  const { inferenceRouting, ...own } = objectOf(only.raw.policies)
  const { host: picker } = objectOf(objectOf(inferenceRouting).endpointPicker)
  const service = objectOf(only.raw.service)
  const host = text(services.get(text(service.name) ?? '')?.hostname)
  if (typeof picker !== 'string' || host === undefined || typeof service.port !== 'number') return
  const at: Path = [...only.path, 'policies', 'inferenceRouting']
  draft.note(file, at, `the picker chooses from the endpoints of the pool: put their addresses beside ${host}`)
  const kept = Object.entries(only.raw).filter(([key]) => key !== 'service' && key !== 'policies')
  route.raw.backends = [
    {
      ...Object.fromEntries(kept),
      inferencePool: { endpoints: [`${host}:${service.port}`], failureMode: 'FailOpen' },
      ...(Object.keys(own).length === 0 ? {} : { policies: own })
    }
  ]
  const extProc = { host: picker, processingOptions: {}, failureMode: 'FailOpen' }
  route.raw.policies = { ...policies, extProc }
}
