/** Mistakes that take more than one place of a configuration to see. */

import { duration } from '#engine/schema/duration.ts'
import { address as addressSchema, portOf } from '#engine/schema/net.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { listed, Suggestions } from '#engine/schema/suggest.ts'
import { httpSetting, keepaliveTime } from './frontend.ts'
import type { Kinds } from './kinds.ts'
import { deadlineWithin, type Overrides } from './process.ts'
import { checkProtocols, tcpRoutesOf } from './tcp-routes.ts'
import type { ConfigTree, Finding, PlacedBind, PlacedRoute } from './tree.ts'

/** All of them, whatever else is wrong. */
export function checkTogether(tree: ConfigTree, kinds: Kinds, env: Overrides): Finding[] {
  return new Checks(tree, kinds, env).run()
}

interface BackendNames {
  readonly known: ReadonlySet<string>
  readonly names: readonly string[]
}

class Checks {
  readonly #findings: Finding[] = []
  readonly #suggestions = new Suggestions()
  readonly #tree: ConfigTree
  readonly #kinds: Kinds
  readonly #config: Raw
  readonly #env: Overrides

  constructor(tree: ConfigTree, kinds: Kinds, env: Overrides) {
    this.#tree = tree
    this.#kinds = kinds
    this.#config = tree.top.raw
    this.#env = env
  }

  run(): Finding[] {
    const { binds } = this.#tree
    const backends = this.#checkBackends()
    this.#checkPorts(binds)
    this.#checkAdmin()
    for (const bind of binds) {
      this.#checkTransport(bind)
      this.#checkUnique(bind.listeners, 'name', ({ name }) => name, 'listener')
      this.#checkUnique(bind.listeners, 'hostname', hostnameOf, 'listener for the host')
      checkProtocols(bind, this.#kinds, (...problem) => this.#report(...problem))
      for (const listener of bind.listeners) {
        const tcpRoutes = tcpRoutesOf(listener)
        this.#checkRules(listener.routes)
        this.#checkUnique(tcpRoutes, 'name', ({ name }) => name, 'route')
        for (const route of [...listener.routes, ...tcpRoutes]) this.#checkRoute(route, backends)
      }
    }
    this.#checkSizes()
    this.#checkDeadlines()
    return this.#findings
  }

  #report(path: Path, message: string, hint?: string, at: Finding['at'] = 'value'): void {
    this.#findings.push({ path, message, at, hint })
  }

  #placeOf(path: Path): string {
    return this.#tree.words.placeOf(path)
  }

  // --- ports ---

  #checkPorts(binds: readonly PlacedBind[]): void {
    const users = new Map<number, string>()
    for (const { name, path, address } of this.#ownServers()) {
      const port = portOf(address)
      if (port === null) continue
      const user = users.get(port)
      if (user !== undefined) this.#report(path, `port ${port} is already the port of ${user}`)
      users.set(port, name)
    }
    for (const { raw, path } of binds) {
      const { port } = raw
      if (typeof port !== 'number') continue
      const user = users.get(port)
      const at = [...path, 'port']
      if (user !== undefined) this.#report(at, `port ${port} is already the port of ${user}`)
      else users.set(port, `the bind in ${this.#placeOf(at)}`)
    }
  }

  #ownServers(): { name: string; path: Path; address: string }[] {
    const config = objectOf(this.#config.config)
    const env = this.#env
    return [
      { key: 'adminAddr', address: env.ADMIN_ADDR ?? text(config.adminAddr) ?? 'localhost:15000' },
      { key: 'statsAddr', address: env.STATS_ADDR ?? text(config.statsAddr) ?? '[::]:15020' },
      { key: 'readinessAddr', address: env.READINESS_ADDR ?? text(config.readinessAddr) ?? '[::]:15021' }
    ].map(({ key, address }) => ({ name: `config.${key} (${address})`, path: ['config', key], address }))
  }

  /** Every caller that reaches the admin port may read and change everything. */
  #checkAdmin(): void {
    const { address, path } = this.#ownServers()[0]!
    // What is no address is a mistake by itself.
    if (isOfThisMachine(address) || !addressSchema().safeParse(address).success) return
    if (objectOf(this.#config.config).admin !== undefined) return
    const message = `${address} is reached from other machines, so that config.admin.tokens must say who may`
    this.#report(path, message, 'set config.admin.tokens (docs/admin-api.md), or listen at localhost:15000')
  }

  // --- what a transport can do ---

  #checkTransport({ raw, path, listeners, transport }: PlacedBind): void {
    const { name, protocols, readsProxyHeaders, sendsTcpProbes, http: limits } = transport
    const at = [...path, 'transport']
    const frontend = objectOf(this.#config.frontendPolicies)
    const other = listeners.find(({ raw: { protocol = 'HTTP' } }) => protocols?.includes(String(protocol)) === false)
    if (other !== undefined) {
      const served = `${name} serves ${protocols!.join(' and ')} only`
      const message = `${served}, and ${other.name} has protocol ${String(other.raw.protocol)}`
      this.#report(at, message, 'use transport auto or node')
    }
    const isProxied = frontend.proxyProtocol !== undefined && raw.tunnelProtocol !== 'direct'
    if (!readsProxyHeaders && (isProxied || raw.tunnelProtocol === 'proxy'))
      this.#report(at, `${name} reads no PROXY headers`, 'use transport node, or tunnelProtocol direct')
    const http = objectOf(frontend.http)
    for (const { key, honours, fact, advice } of limits) {
      const value = httpSetting(http, key)
      if (value === undefined || honours(value)) continue
      const origin = http[key] === undefined ? 'the default ' : ''
      const message = `${name} cannot honour ${origin}frontendPolicies.http.${key}: ${fact}`
      this.#report(at, message, `${advice}, or use transport node`)
    }
    const tcp = objectOf(frontend.tcp)
    const keepalives = objectOf(tcp.keepalives ?? tcp.keepalive)
    if (sendsTcpProbes || keepaliveTime(keepalives) === 0) return
    const whose = keepalives.time === undefined ? 'the default ' : ''
    const message = `${name} cannot honour ${whose}frontendPolicies.tcp.keepalives.time: it sends no TCP probes`
    this.#report(at, message, 'set it to 0s, or use transport node')
  }

  // --- names ---

  #checkUnique<T extends Placed>(
    all: readonly T[],
    key: string,
    labelOf: (item: T) => string,
    what: string,
    hint?: string
  ): void {
    const seen = new Map<string, Path>()
    for (const item of all) {
      const value = labelOf(item)
      const first = seen.get(value)
      if (first === undefined) seen.set(value, item.path)
      else this.#report([...item.path, key], `there is already a ${what} "${value}" in ${this.#placeOf(first)}`, hint)
    }
  }

  /** Routes of one name are the rules of one route, which differ in ruleName. */
  #checkRules(routes: readonly PlacedRoute[]): void {
    const nameless = routes.filter(({ raw }) => raw.ruleName === undefined)
    this.#checkUnique(nameless, 'name', ({ name }) => name, 'route', 'as rules of one route, give each a ruleName')
    const rules = Map.groupBy(
      routes.filter(({ raw }) => text(raw.ruleName) !== undefined),
      ({ name }) => name
    )
    for (const [name, ruled] of rules)
      this.#checkUnique(ruled, 'ruleName', ({ raw }) => String(raw.ruleName), `rule of the route "${name}":`)
  }

  #checkBackends(): BackendNames {
    const named = this.#tree.backends.filter(({ raw }) => text(raw.name) !== undefined)
    this.#checkUnique(named, 'name', ({ raw }) => String(raw.name), 'backend')
    const known = new Set(named.map(({ raw }) => String(raw.name)))
    return { known, names: [...known] }
  }

  #checkRoute(route: Placed, backends: BackendNames): void {
    const references = entriesOf(route.raw.backends, [...route.path, 'backends'])
    for (const { raw, path } of references) {
      const name = text(raw.backend)
      if (name === undefined || backends.known.has(name)) continue
      const near = this.#suggestions.nearest(name, backends.names)
      const { noun, top } = this.#tree.words
      const known = backends.names.length === 0 ? `the ${noun} has no backends` : `there are: ${listed(backends.names)}`
      const hint = near === null ? known : `did you mean "${near}"?`
      this.#report([...path, 'backend'], `there is no backend "${name}" ${top}`, hint)
    }
    if (references.length > 0 && references.every(({ raw }) => raw.weight === 0)) {
      this.#report([...route.path, 'backends'], 'every weight is 0, so no request could be served', undefined, 'key')
    }
  }

  // --- numbers that must fit each other ---

  #checkSizes(): void {
    const http = objectOf(objectOf(this.#config.frontendPolicies).http)
    const uri = httpSetting(http, 'maxUriSize')
    const head = httpSetting(http, 'maxHeaderSize')
    if (uri === undefined || head === undefined || uri <= head) return
    const key = http.maxUriSize === undefined ? 'maxHeaderSize' : 'maxUriSize'
    this.#report(
      ['frontendPolicies', 'http', key],
      `maxUriSize (${uri}) cannot be larger than maxHeaderSize (${head}): the target is part of the head`
    )
  }

  #checkDeadlines(): void {
    const config = objectOf(this.#config.config)
    const ms = (key: string) => {
      const result = duration().safeParse(config[key])
      return result.success ? result.data : undefined
    }
    const env = this.#env
    const min = env.CONNECTION_MIN_TERMINATION_DEADLINE ?? ms('connectionMinTerminationDeadline')
    const deadline = env.CONNECTION_TERMINATION_DEADLINE ?? ms('connectionTerminationDeadline')
    // One that is given and wrong has its own message.
    if (min === undefined || (deadline === undefined && config.connectionTerminationDeadline !== undefined)) return
    const max = deadline ?? deadlineWithin(env.TERMINATION_GRACE_PERIOD_SECONDS)
    if (min <= max) return
    const hint = deadline === undefined ? `which is ${max / 1000}s when it is not given: give both` : undefined
    this.#report(
      ['config', 'connectionMinTerminationDeadline'],
      'the shortest drain cannot be longer than connectionTerminationDeadline',
      hint
    )
  }
}

function hostnameOf({ raw }: Placed): string {
  return text(raw.hostname)?.toLowerCase() ?? '*'
}

/** Of adminAddr. */
function isOfThisMachine(address: string): boolean {
  return /^(?:off$|unix:|localhost:|127(?:\.\d{1,3}){3}:|\[::1\]:)/.test(address)
}
