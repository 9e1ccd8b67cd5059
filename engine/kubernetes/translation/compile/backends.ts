/** Compiles named backends by themselves, so that one that is wrong spoils no route. */

import { share } from '#engine/ir/share.ts'
import type { Backend } from '#engine/ir/snapshot.ts'
import { type Compiler, warningText } from './compiler.ts'
import { compose, type GatewayModel } from './gateway-model.ts'
import type { JudgedRecords } from './judged-records.ts'
import type { BackendRecord } from './records.ts'

interface Known {
  /** What it was made of: the backend, and what is around it. */
  readonly record: BackendRecord
  readonly context: object
  readonly backend: Backend
  readonly warnings: readonly string[]
}

const BATCH = 256
const ROUNDS_MAX = 64

export class NamedBackends {
  readonly #compiler: Compiler
  readonly #records: JudgedRecords
  readonly #known = new Map<string, Known>()

  constructor(compiler: Compiler, records: JudgedRecords) {
    this.#compiler = compiler
    this.#records = records
  }

  /** Makes those of `names` that are not made yet of what is there now. `context`: another one for another model. */
  update(names: ReadonlySet<string>, model: GatewayModel, context: object): void {
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name)
    const stale = [...names].filter((name) => {
      const known = this.#known.get(name)
      return known === undefined || known.context !== context || known.record !== this.#records.backend(name)
    })
    for (let i = 0; i < stale.length; i += BATCH) this.#make(stale.slice(i, i + BATCH), model, context)
  }

  get(name: string): Backend | undefined {
    return this.#known.get(name)?.backend
  }

  get warnings(): readonly string[] {
    return [...this.#known.values()].flatMap(({ warnings }) => warnings)
  }

  #make(names: readonly string[], model: GatewayModel, context: object): void {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const needs = [{ backends: names, secrets: [] }]
      const composed = compose(model, { listeners: [], needs, isWhole: false }, this.#records)
      const outcome = this.#compiler.compile(composed)
      if ('draft' in outcome) {
        const { draft, warnings } = outcome
        const texts = Map.groupBy(warnings, ({ path }) => (path[0] === 'backends' ? Number(path[1]) : -1))
        composed.backends.forEach((record, i) => {
          if (!names.includes(record.name)) return
          const backend = share(this.#known.get(record.name)?.backend, draft.backends[record.name]!)
          this.#known.set(record.name, { record, context, backend, warnings: (texts.get(i) ?? []).map(warningText) })
        })
        return
      }
      const judged = outcome.findings.map((finding) => this.#records.refuse(finding, composed))
      if (!judged.includes(true)) break
    }
    if (names.length > 1) {
      const half = Math.ceil(names.length / 2)
      this.#make(names.slice(0, half), model, context)
      this.#make(names.slice(half), model, context)
    }
  }
}
