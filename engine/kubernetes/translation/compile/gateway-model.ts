/**
 * What is above the routes of a Gateway, in a form from which single fields can be taken when they turn out to be
 * wrong. Everything that is compiled stands below it.
 */
import type { Input } from '#engine/kubernetes/translation/inputs.ts'
import type { PartOrigin } from '#engine/kubernetes/translation/parts.ts'
import { Sections } from '#engine/kubernetes/translation/sections.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { closureOf } from './closure.ts'
import type { Composed } from './compiler.ts'
import { belowRoutes, neededBelow } from './raw-below.ts'
import { mergedBelow, mergedSets } from './raw-config.ts'
import type { BackendRecord, GatewayRecord, ListenerRecord, Needs, Records, SecretRecord } from './records.ts'

export interface ListenerModel {
  readonly record: ListenerRecord
  /** Sets of policies, less what was taken out. */
  sets: readonly Raw[]
  /** False: its certificate cannot be used, or its port. */
  isServed: boolean
  /** A policy was taken out: none of its requests may be served without it. */
  isClosed: boolean
}

export interface GatewayModel {
  readonly record: GatewayRecord
  rawConfigs: readonly Input<Raw>[]
  frontend: Raw
  sets: readonly Raw[]
  isClosed: boolean
  readonly listeners: readonly ListenerModel[]
}

export const modelOf = (record: GatewayRecord): GatewayModel => ({
  record,
  rawConfigs: record.rawConfigs,
  frontend: record.frontend.value,
  sets: record.policies.value,
  isClosed: false,
  listeners: record.listeners.map((one) => ({
    record: one,
    sets: one.policies.value,
    isServed: true,
    isClosed: false
  }))
})

/** Entries of routes at a listener. */
export interface Placed {
  readonly value: Raw
  readonly origins: Input['origins']
}

export interface Contents {
  readonly listeners: readonly { readonly model: ListenerModel; readonly routes: readonly Placed[] }[]
  /** Beside what the Gateway itself needs. */
  readonly needs: readonly Needs[]
  /** With certificates and settings of connections, on which routes do not depend. */
  readonly isWhole: boolean
}

/** Paths in what is composed: of a listener, by its number in `Contents`. */
export interface ComposedGateway extends Composed {
  readonly listenerAt: (bind: number, listener: number) => number
  readonly backends: readonly BackendRecord[]
  readonly secrets: readonly SecretRecord[]
}

export function compose(model: GatewayModel, contents: Contents, records: Records): ComposedGateway {
  const { record } = model
  const sections = new Sections()
  const binds = new Map<number, { readonly port: number; readonly listeners: Raw[] }>()
  const places: number[][] = []
  contents.listeners.forEach(({ model: one, routes }, index) => {
    const { port } = one.record
    const bind = binds.get(port) ?? { port, listeners: [] }
    binds.set(port, bind)
    const b = [...binds.keys()].indexOf(port)
    places[b] ??= []
    places[b].push(index)
    const at = ['binds', b, 'listeners', bind.listeners.length]
    bind.listeners.push(listenerValue(one, routes, contents.isWhole, at, sections))
  })
  const needs = [record, ...contents.listeners.map((one) => one.model.record), ...contents.needs]
  const { backends, secrets } = closureOf(needs, records)
  for (const [i, { entry }] of backends.entries()) sections.add(['backends', i], entry.origins)
  for (const [i, { entry }] of secrets.entries()) sections.add(['secrets', i], entry.origins)
  if (contents.isWhole) sections.add(['frontendPolicies'], record.frontend.origins)
  sections.add(['policies'], record.policies.origins)
  const hasFrontend = contents.isWhole && Object.keys(model.frontend).length > 0
  const typed: Raw = {
    binds: [...binds.values()],
    ...(backends.length === 0 ? {} : { backends: backends.map((one) => entryOf(one, record)) }),
    ...(secrets.length === 0 ? {} : { secrets: secrets.map(({ entry }) => entry.value) }),
    ...(hasFrontend ? { frontendPolicies: model.frontend } : {})
  }
  const { value, sets } = withRawConfigs(typed, model, contents.isWhole, sections)
  return {
    value: sets.length === 0 ? value : { ...value, policies: sets },
    sections,
    listenerAt: (bind, listener) => places[bind]?.[listener] ?? -1,
    backends,
    secrets
  }
}

function listenerValue(
  { record, sets }: ListenerModel,
  routes: readonly Placed[],
  isWhole: boolean,
  at: readonly (string | number)[],
  sections: Sections
): Raw {
  const { name, hostname, protocol, place, tls, policies } = record
  sections.add(at, [[[], place]])
  const isStream = protocol === 'TCP' || protocol === 'TLS'
  const key = isStream ? 'tcpRoutes' : 'routes'
  for (const [r, { origins }] of routes.entries()) sections.add([...at, key, r], origins)
  if (tls !== null) sections.add([...at, 'tls'], tls.origins)
  sections.add([...at, 'policies'], policies.origins)
  // Routes and policies do not depend on certificates, which take long to check.
  const end = isWhole || protocol !== 'HTTPS' ? { protocol } : {}
  return {
    name,
    hostname,
    ...end,
    ...(isWhole && tls !== null ? { tls: tls.value } : {}),
    ...(isStream || sets.length === 0 ? {} : { policies: sets }),
    [key]: routes.map(({ value }) => value)
  }
}

/** A Service that is reached over TLS is shown the certificate of the Gateway, unless it says one. */
function entryOf({ entry }: BackendRecord, { clientCertificate }: GatewayRecord): Raw {
  const { value } = entry
  const policies = value.policies as Raw | undefined
  const tls = policies?.backendTLS as Raw | undefined
  if (clientCertificate === null || tls === undefined || tls.cert !== undefined) return value
  return { ...value, policies: { ...policies, backendTLS: { ...tls, ...clientCertificate.value } } }
}

/** Routes are compiled below no ports of `rawConfig`, no settings of connections, and nothing with targets. */
function withRawConfigs(typed: Raw, model: GatewayModel, isWhole: boolean, sections: Sections) {
  let value = typed
  let sets = model.sets
  for (const input of model.rawConfigs.toReversed()) {
    const raw = isWhole ? input.value : neededBelow(belowRoutes(input), value)
    const { policies, ...below } = raw
    value = mergedBelow(value, below)
    if (policies !== undefined) sets = mergedSets(sets, policies)
    if (!isWhole) sets = sets.filter(({ targetRefs }) => targetRefs === undefined)
    sections.add([], input.origins)
    for (const key of Object.keys(below)) addEntries(key, input.value[key], value[key], input.origins, sections)
  }
  return { value, sets }
}

/** Entries of a merged list that `rawConfig` alone has: they stand at other indices there. */
function addEntries(
  key: string,
  raw: unknown,
  merged: unknown,
  origins: readonly PartOrigin[],
  sections: Sections
): void {
  if (!Array.isArray(raw) || !Array.isArray(merged)) return
  const indices = indicesOf(raw)
  for (const [i, entry] of merged.entries()) {
    const index = indices.get(entry)
    if (index === undefined) continue
    sections.add(
      [key, i],
      origins.map(([at, from]) => [at, { ...from, path: [...from.path, key, index] }])
    )
  }
}

const known = new WeakMap<readonly unknown[], ReadonlyMap<unknown, number>>()

function indicesOf(list: readonly unknown[]): ReadonlyMap<unknown, number> {
  // Of an entry that stands there twice, the first.
  const indices = known.get(list) ?? new Map([...list.entries()].map(([i, one]) => [one, i] as const).reverse())
  known.set(list, indices)
  return indices
}
