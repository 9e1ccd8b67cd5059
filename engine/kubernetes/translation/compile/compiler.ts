/** Compiles values that are put together from resources, and says of what is wrong which object said it. */

import { withoutKeys } from '#engine/kit/sensitive.ts'
import { placeText } from '#engine/kubernetes/translation/conditions.ts'
import type { Fault, ObjectPlace } from '#engine/kubernetes/translation/parts.ts'
import { closedForm } from '#engine/kubernetes/translation/policies/index.ts'
import type { Sections } from '#engine/kubernetes/translation/sections.ts'
import { type Path, pathText } from '#engine/schema/placed.ts'
import { type CompileOptions, compileConfig } from '#engine/source/compile.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { Finding, SourceWords } from '#engine/source/tree.ts'

/** Where a finding stands in the value, and what it is a fault of. */
export interface PlacedFinding {
  readonly path: Path
  readonly message: string
  /** Null: no object said it. */
  readonly place: ObjectPlace | null
}

export type Outcome =
  | { readonly draft: SnapshotDraft; readonly warnings: readonly PlacedFinding[] }
  | { readonly findings: readonly PlacedFinding[] }

/** A configuration, or a part of one: what acts on nothing of a part may act on the rest. */
export interface Composed {
  readonly value: unknown
  readonly sections: Sections
}

/** Of one compilation. What they blame is taken out, and what is compiled then shows the rest. */
const FINDINGS_MAX = 1_000

export class Compiler {
  readonly #options: CompileOptions
  /** How often the engine has compiled, for tests of what is kept. */
  count = 0

  constructor(options: CompileOptions) {
    this.#options = options
  }

  /** In place of a policy that is wrong; undefined: it is left out. */
  closedForm(name: string, value: unknown): unknown {
    return closedForm(name, value, this.#options)
  }

  compile({ value, sections }: Composed): Outcome {
    this.count++
    const words: SourceWords = { noun: 'Gateway', top: 'that it refers to', placeOf: (path) => sections.textOf(path) }
    const placed = ({ path, message, hint }: Finding): PlacedFinding => ({
      path,
      message: withoutKeys(hint === undefined ? message : `${message} (${hint})`),
      place: sections.placeOf(path)
    })
    try {
      const compiled = compileConfig({ value, isSound: true, isPart: true, isTranslated: true, words }, this.#options)
      if ('findings' in compiled) return { findings: compiled.findings.slice(0, FINDINGS_MAX).map(placed) }
      return { draft: compiled.snapshot, warnings: compiled.warnings.map(placed) }
    } catch (error) {
      // One resource over which the engine itself stumbles must not end what runs. The text may have parts of it.
      const message = `this is a fault of weir (${(error as Error).name}): please report it`
      return { findings: [{ path: [], message, place: null }] }
    }
  }
}

/** A finding as a fault of a condition. `owner`: whose it is when no object said it. */
export function faultOf(
  { path, message, place }: PlacedFinding,
  type: string,
  reason: string,
  owner: ObjectPlace
): Fault {
  return place === null
    ? { type, reason, message: path.length === 0 ? message : `${pathText(path)}: ${message}`, place: owner }
    : { type, reason, message, place }
}

/** "HTTPRoute demo/shop: spec.rules[0]: what is doubtful". */
export const warningText = ({ place, path, message }: PlacedFinding): string =>
  `${place === null ? pathText(path) : placeText(place)}: ${message}`
