/** What an API server makes of the tables of objects (engine/kubernetes/testing). */
import { isDeepStrictEqual } from 'node:util'
import { type Accepted, type Kind, objectOf, type Refused } from '#engine/kubernetes/testing/case.ts'
import type { ApiClient } from './client.ts'

export interface Judged {
  readonly name: string
  /** Null: it did what it should. */
  readonly why: string | null
}

/** `plurals`: by kinds. */
export class Judge {
  readonly #client: ApiClient
  readonly #plurals: ReadonlyMap<Kind, string>
  #count = 0

  constructor(client: ApiClient, plurals: ReadonlyMap<Kind, string>) {
    this.#client = client
    this.#plurals = plurals
  }

  /** Created, and read back as it was written, with its defaults. */
  async accepted(one: Accepted): Promise<Judged> {
    const object = objectOf(one, this.#name())
    const plural = this.#plurals.get(one.kind)!
    const made = await this.#client.create(object, plural)
    if (made.status !== 201) return judged(one, `refused with ${made.status}: ${made.body.message}`)
    const { body } = await this.#client.get(object, plural)
    const { added, changed } = difference(one.spec, body.spec, '')
    if (changed.length > 0) return judged(one, `read back otherwise: ${changed.join(', ')}`)
    const isFilled = isDeepStrictEqual(added.toSorted(), one.filled.toSorted())
    return judged(one, isFilled ? null : `filled in: ${added.join(', ') || 'nothing'}`)
  }

  /** Refused because of the field that is wrong. */
  async refused(one: Refused): Promise<Judged> {
    const { status, body } = await this.#client.create(objectOf(one, this.#name()), this.#plurals.get(one.kind)!)
    const { message = '' } = body
    if (status !== 422 && status !== 400) return judged(one, `is ${status}, not refused`)
    const isNamed = message.includes(`${one.at}: `) || message.includes(`"${one.at}"`)
    if (isNamed && message.includes(one.says)) return judged(one, null)
    return judged(one, `does not say "${one.at}: ... ${one.says}": ${message}`)
  }

  #name(): string {
    this.#count++
    return `object-${this.#count}`
  }
}

const judged = ({ kind, name }: Accepted | Refused, why: string | null): Judged => ({ name: `${kind}: ${name}`, why })

interface Difference {
  /** "path: value in JSON" of what is only in the second. */
  readonly added: readonly string[]
  readonly changed: readonly string[]
}

function difference(sent: unknown, got: unknown, path: string): Difference {
  if (isDeepStrictEqual(sent, got)) return { added: [], changed: [] }
  if (!isObject(sent) || !isObject(got)) return { added: [], changed: [`${path}: ${JSON.stringify(got)}`] }
  const parts = [...new Set([...Object.keys(sent), ...Object.keys(got)])].map((key): Difference => {
    const at = Array.isArray(got) ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`
    if (sent[key] === undefined) return { added: [`${at}: ${JSON.stringify(got[key])}`], changed: [] }
    return difference(sent[key], got[key], at)
  })
  return { added: parts.flatMap(({ added }) => added), changed: parts.flatMap(({ changed }) => changed) }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
