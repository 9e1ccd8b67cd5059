/** Models and the ports that serve them, from the configuration in force and from the books. */
import type { Answer } from '#engine/ui/api/client.ts'

export interface Model {
  /** By which clients ask for it; null: whatever they ask for. */
  readonly name: string | null
  readonly backend: string
  readonly provider: string
  /** Kind of the provider: "openai". */
  readonly type: string
  /** "api.openai.com:443". */
  readonly address: string
  /** What its API speaks. */
  readonly formats: readonly string[]
}

/** A port with a route to models. */
export interface Door {
  readonly title: string
  /** "http://localhost:4000", with the prefix of the route. */
  readonly url: string
}

/** Parts of the snapshot that are read here; what another version has besides does not matter. */
interface Provider {
  readonly name?: string
  readonly type?: string
  readonly model?: string | null
  readonly host?: string
  readonly port?: number
  readonly formats?: readonly string[]
}
interface Backend {
  readonly kind: string
  readonly groups?: readonly (readonly Provider[])[]
  readonly models?: readonly { readonly name: string; readonly backend: Backend }[]
}
interface Snapshot {
  readonly backends: Readonly<Record<string, Backend>>
  readonly binds: readonly {
    readonly port: number
    readonly listeners: readonly {
      readonly name: string
      readonly hostname: string
      readonly protocol: string
      readonly routes: readonly {
        readonly name: string
        readonly matches: readonly { readonly path: { readonly prefix?: string } }[]
        readonly backends: readonly { readonly backend: string }[]
      }[]
    }[]
  }[]
}

const KINDS: readonly string[] = ['ai', 'models']

const snapshotOf = (answer: Answer<'getConfiguration'>) => answer.snapshot as unknown as Snapshot

export function modelsOf(answer: Answer<'getConfiguration'>): readonly Model[] {
  return Object.entries(snapshotOf(answer).backends).flatMap(([name, backend]) => {
    if (!KINDS.includes(backend.kind)) return []
    if (backend.models === undefined) return providersOf(name, backend, null)
    return backend.models.flatMap((model) => providersOf(name, model.backend, model.name))
  })
}

function providersOf(backend: string, { groups = [] }: Backend, name: string | null): Model[] {
  return groups.flat().map(({ name: provider = '', type = '', model, host = '', port = 0, formats = [] }) => ({
    ...{ name: name ?? model ?? null, backend, provider, type, formats },
    address: `${host}:${port}`
  }))
}

export function doorsOf(answer: Answer<'getConfiguration'>): readonly Door[] {
  const { binds, backends } = snapshotOf(answer)
  return binds.flatMap(({ port, listeners }) =>
    listeners.flatMap(({ name, hostname, protocol, routes }) => {
      const scheme = protocol === 'HTTPS' ? 'https' : 'http'
      const host = hostname.includes('*') ? hostname.replace('*.', 'any.').replace('*', 'localhost') : hostname
      return routes.flatMap((route): Door[] => {
        if (!route.backends.some(({ backend }) => KINDS.includes(backends[backend]?.kind ?? ''))) return []
        const prefix = route.matches[0]?.path.prefix ?? '/'
        // Paths of the formats begin with /v1: a route of /v1 has them below "/".
        const base = prefix.replace(/\/(?:v1(?:beta)?(?:\/.*)?)?$/, '')
        return [{ title: `:${port} ${name}, ${route.name}`, url: `${scheme}://${host}:${port}${base}` }]
      })
    })
  )
}

/** Health of the addresses of a model's provider: null, none is known yet. */
export function healthOf({ address }: Model, { backends }: Answer<'listBackends'>) {
  const known = backends.find(({ destination }) => destination === address)?.addresses ?? []
  const away = known.filter(({ state }) => state !== 'healthy')
  if (known.length === 0) return null
  return { isWell: away.length === 0, why: away[0]?.reason ?? '' }
}

/** Names that clients may ask for, without patterns. */
export const namesOf = (models: readonly Model[]): string[] =>
  [...new Set(models.flatMap(({ name }) => (name === null || name.includes('*') ? [] : [name])))].toSorted()
