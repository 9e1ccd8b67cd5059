/** `gateways`, `routes` and `tcpRoutes` at the top of agentgateway's file -> binds. */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { entriesOf, objectOf, type Raw, text } from '#engine/schema/placed.ts'

const CONNECT = 'HTTP CONNECT is not in this version: the port is left out'
const LLM_PORT = 4000
const MCP_PORT = 3000

export function bindGateways(draft: Draft, file: ForeignFile): void {
  const { value } = draft
  const kept = entriesOf(value.binds, ['binds']).filter(({ raw, path }) => {
    if (raw.tunnelProtocol !== 'connect') return true
    draft.note(file, [...path, 'tunnelProtocol'], CONNECT)
    return false
  })
  if (Array.isArray(value.binds)) value.binds = kept.map(({ raw }) => raw)
  if (value.gateways === undefined) return
  const gateways = objectOf(value.gateways)
  const listeners = new Map<string, Raw>()
  const binds = Object.entries(gateways).map(([name, raw]) => {
    const { listeners: own, ...gateway } = objectOf(raw)
    const all = Array.isArray(own) ? own.map((one) => ({ ...objectOf(one) })) : [{ name }]
    for (const one of all) listeners.set(`${name}/${String(one.name)}`, one)
    listeners.set(name, all[0]!)
    return { ...gateway, listeners: all }
  })
  for (const key of ['routes', 'tcpRoutes'] as const) {
    for (const { raw, path } of entriesOf(value[key], [key])) {
      const { gateways: names, ...route } = raw
      const places = (Array.isArray(names) ? names : [names ?? 'default']).map((one) => listeners.get(String(one)))
      for (const listener of places) {
        if (listener === undefined) draft.note(file, path, 'its gateway is not in the file: the route is left out')
        else listener[key] = [...((listener[key] as unknown[] | undefined) ?? []), route]
      }
    }
    delete value[key]
  }
  delete value.gateways
  placeShortcuts(draft, file, gateways)
  const used = binds.flatMap((bind) => {
    const served = bind.listeners.filter((one) => one.routes !== undefined || one.tcpRoutes !== undefined)
    return served.length === 0 ? [] : [{ ...bind, listeners: served }]
  })
  if (used.length > 0 || value.binds !== undefined)
    value.binds = [...((value.binds as unknown[] | undefined) ?? []), ...used]
}

/** `llm` and `mcp` share a port there; here each has its own. */
function placeShortcuts(draft: Draft, file: ForeignFile, gateways: Raw): void {
  const { value } = draft
  const { port } = objectOf(gateways.default)
  const note = (key: string, reason: string): void => {
    draft.notes.push({ place: `${file.name}:${file.lineOf([key])}: ${key}`, reason })
  }
  for (const key of ['llm', 'mcp'] as const) {
    const own = objectOf(value[key])
    if (text(own.gateways) === undefined) continue
    note(key, `is served by the gateway "${String(own.gateways)}", and has a port of its own here: it is left out`)
    delete value[key]
  }
  if (typeof port !== 'number') return
  const [llm, mcp] = [objectOf(value.llm), objectOf(value.mcp)]
  if (value.llm !== undefined) llm.port ??= port
  if (value.mcp === undefined) return
  if (value.llm === undefined) {
    mcp.port ??= port
    return
  }
  mcp.port ??= port === MCP_PORT ? LLM_PORT : MCP_PORT
  note('mcp', `shares port ${port} with llm there; here it is at port ${String(mcp.port)}`)
}
