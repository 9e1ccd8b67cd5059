/** What statuses say that is not as it should be, for people who have no API server to ask. */
import { entriesOf, objectOf, type Path, parsePath, text } from '#engine/schema/placed.ts'

export interface Complaint {
  /** "listener http: ResolvedRefs is False (RefNotPermitted): ...". */
  readonly message: string
  /** In the object; empty: it is about the whole of it. */
  readonly path: Path
  /** The object does nothing as it is; otherwise a part of it does not, or what it refers to is missing. */
  readonly isRefused: boolean
}

/** Conditions that say with True that something is wrong. */
const BAD_WHEN_TRUE: ReadonlySet<string> = new Set([
  ...['Conflicted', 'OverlappingTLSConfig', 'PartiallyInvalid', 'InsecureFrontendValidationMode']
])

/** A data plane has still to say whether it serves it. */
const LATER: ReadonlySet<string> = new Set(['Pending', 'Unknown'])

/** It may be elsewhere: Secrets are seldom kept with manifests. */
const ELSEWHERE = /^there is no (?:Secret|ConfigMap|Service|GatewayBackend|GatewayParameters)\b/

/** Where a message says at once what it is about. */
const AT = /^((?:spec|data)(?:[.[][^\s:]*)?): /

/** Of one object. Each message once, however many conditions say it. */
export function complaintsOf(status: unknown): readonly Complaint[] {
  const seen = new Set<string>()
  return placesIn(status).flatMap(({ name, conditions, path }) => {
    const bad = conditions.filter(isBad)
    // What is not accepted, or refers to nothing, is not programmed either.
    const causes = bad.length === 1 ? bad : bad.filter(({ type }) => type !== 'Programmed')
    return causes.flatMap((one) => {
      const [start, at] = AT.exec(one.message) ?? []
      const message = start === undefined ? one.message : one.message.slice(start.length)
      if (seen.has(one.message)) return []
      seen.add(one.message)
      const title = `${name === '' ? '' : `${name}: `}${one.type} is ${one.status} (${one.reason})`
      return {
        message: `${title}: ${message}`,
        path: at === undefined ? path : parsePath(at),
        isRefused: one.type === 'Accepted' && !ELSEWHERE.test(message)
      }
    })
  })
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

const isBad = ({ type, status, reason }: Condition): boolean =>
  BAD_WHEN_TRUE.has(type) ? status === 'True' : status !== 'True' && !LATER.has(reason)

interface Place {
  readonly name: string
  readonly conditions: readonly Condition[]
  readonly path: Path
}

/** The object itself, its listeners, and what it is attached to. */
function placesIn(value: unknown): readonly Place[] {
  const status = objectOf(value)
  const listeners = entriesOf(status.listeners, []).map(({ raw }, i): Place => {
    return { name: `listener ${text(raw.name) ?? i}`, conditions: conditionsOf(raw), path: ['spec', 'listeners', i] }
  })
  const parents = entriesOf(status.parents, []).map(({ raw }): Place => {
    return { name: `parent ${referred(raw.parentRef)}`, conditions: conditionsOf(raw), path: [] }
  })
  const ancestors = entriesOf(status.ancestors, []).map(({ raw }): Place => {
    return { name: `target ${referred(raw.ancestorRef)}`, conditions: conditionsOf(raw), path: [] }
  })
  return [{ name: '', conditions: conditionsOf(status), path: [] }, ...listeners, ...parents, ...ancestors]
}

function conditionsOf(value: object): Condition[] {
  const { conditions } = value as { readonly conditions?: unknown }
  return entriesOf(conditions, []).map(({ raw }) => {
    const { type, status, reason, message } = raw
    return { type: String(type), status: String(status), reason: String(reason), message: String(message) }
  })
}

function referred(ref: unknown): string {
  const { kind, namespace, name, sectionName } = objectOf(ref)
  const own = `${text(kind) ?? 'Gateway'} ${text(namespace) === undefined ? '' : `${text(namespace)}/`}${String(name)}`
  return text(sectionName) === undefined ? own : `${own} section ${text(sectionName)}`
}
