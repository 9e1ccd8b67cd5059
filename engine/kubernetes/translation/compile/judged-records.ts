/** Records of backends and secrets, with others in place of those that are refused. */
import type { Fault, ObjectPlace } from '#engine/kubernetes/translation/parts.ts'
import { faultOf, type PlacedFinding } from './compiler.ts'
import type { ComposedGateway } from './gateway-model.ts'
import type { BackendRecord, Records, SecretRecord } from './records.ts'

/** A backend of the same name that answers 500. */
export type Refuse = (name: string) => BackendRecord

export class JudgedRecords implements Records {
  readonly #records: Records
  readonly #replacement: Refuse
  /** By what is refused: another record of that name is judged anew. */
  readonly #refused = new Map<BackendRecord, { readonly replacement: BackendRecord; readonly faults: Fault[] }>()
  readonly #secrets = new Set<SecretRecord>()
  /** Rises when anything is refused, or may be taken again. */
  version = 0
  /** Rises with `version`, and when more is found that is wrong. */
  revision = 0

  constructor(records: Records, replacement: Refuse) {
    this.#records = records
    this.#replacement = replacement
  }

  readonly backend = (name: string): BackendRecord | undefined => {
    const found = this.#records.backend(name)
    return found === undefined ? undefined : (this.#refused.get(found)?.replacement ?? found)
  }

  readonly secret = (name: string): SecretRecord | undefined => {
    const found = this.#records.secret(name)
    return found === undefined || this.#secrets.has(found) ? undefined : found
  }

  /** Whether the finding is about a backend or a secret, which was in use so far and no longer is. */
  refuse(finding: PlacedFinding, { backends, secrets }: ComposedGateway): boolean {
    const isNew = this.#refuse(finding, { backends, secrets })
    if (isNew) this.version++
    this.revision++
    return isNew
  }

  #refuse(finding: PlacedFinding, { backends, secrets }: Pick<ComposedGateway, 'backends' | 'secrets'>): boolean {
    const [list, index] = finding.path
    if (list === 'secrets') {
      const secret = secrets[Number(index)]
      return secret !== undefined && !this.#secrets.has(secret) && this.#secrets.add(secret).size > 0
    }
    const backend = list === 'backends' ? backends[Number(index)] : undefined
    if (backend === undefined) return false
    const fault = faultOf(finding, 'Accepted', 'Invalid', placeOf(backend))
    const known = this.#refused.get(backend)
    if (known !== undefined) known.faults.push(fault)
    // One that stands for another is not refused again.
    else if (this.#records.backend(backend.name) !== backend) return false
    else this.#refused.set(backend, { replacement: this.#replacement(backend.name), faults: [fault] })
    return known === undefined
  }

  /** Of those that are in use no longer, too, until they are forgotten. */
  faultsOf(record: BackendRecord | undefined): readonly Fault[] {
    return record === undefined ? [] : (this.#refused.get(record)?.faults ?? [])
  }

  /** What was refused with other policies around it may be taken with those of now. */
  forget(): void {
    if (this.#refused.size > 0 || this.#secrets.size > 0) this.version++
    this.revision++
    this.#refused.clear()
    this.#secrets.clear()
  }

  /** Forgets what is in use no longer. */
  prune(): void {
    for (const record of this.#refused.keys()) {
      if (this.#records.backend(record.name) !== record) this.#refused.delete(record)
    }
    for (const record of this.#secrets) {
      if (this.#records.secret(record.name) !== record) this.#secrets.delete(record)
    }
  }
}

const placeOf = ({ entry, name }: BackendRecord): ObjectPlace =>
  entry.origins[0]?.[1] ?? { key: `Backend//${name}`, path: [] }
