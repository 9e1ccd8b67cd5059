/** LiteLLM's mcp_servers -> targets of weir's `mcp`. Source: "MCP Overview" of LiteLLM's docs. */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'
import { carriedValue, isSet, textOf } from './texts.ts'

const KNOWN = new Set([
  ...['url', 'transport', 'command', 'args', 'env', 'auth_type', 'auth_value', 'authentication_token'],
  ...[
    'allowed_tools',
    'disallowed_tools',
    'description',
    'mcp_info',
    'alias',
    'server_id',
    'spec_version',
    'allow_all_keys'
  ]
])

export function targetsOf(file: ForeignFile, environment: Raw, draft: Draft): Raw[] {
  const servers = Object.entries(objectOf(objectOf(file.value).mcp_servers))
  return servers.flatMap(([name, value]) => {
    const path: Path = ['mcp_servers', name]
    const raw = objectOf(value)
    const place = placeOf(raw, environment)
    if (place === null) {
      draft.note(file, path, 'has neither url nor command: the server is left out')
      return []
    }
    for (const key of Object.keys(raw)) {
      if (!KNOWN.has(key) && isSet(raw[key])) draft.note(file, [...path, key], 'is not carried for MCP servers')
    }
    const policies = { ...authOf(file, path, raw, environment, draft), ...rulesOf(raw) }
    return [{ name: targetName(name), ...place, ...(Object.keys(policies).length === 0 ? {} : { policies }) }]
  })
}

const targetName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63) || 'server'

/** LiteLLM's default transport is SSE. */
function placeOf(raw: Raw, environment: Raw): Raw | null {
  const host = textOf(raw.url, environment)
  if (host !== undefined) return raw.transport === 'http' ? { mcp: { host } } : { sse: { host } }
  const cmd = textOf(raw.command, environment)
  if (cmd === undefined) return null
  const args = Array.isArray(raw.args) ? { args: carriedValue(raw.args, environment) } : {}
  return { stdio: { cmd, ...args, ...(raw.env === undefined ? {} : { env: carriedValue(raw.env, environment) }) } }
}

function authOf(file: ForeignFile, path: Path, raw: Raw, environment: Raw, draft: Draft): Raw {
  const type = text(raw.auth_type)
  const key = textOf(raw.auth_value ?? raw.authentication_token, environment)
  if (type === undefined || type === 'none') return {}
  if (key === undefined || !['bearer_token', 'api_key', 'authorization', 'basic'].includes(type)) {
    draft.note(file, [...path, 'auth_type'], `the server is shown no credential of type ${type}`)
    return {}
  }
  if (type === 'api_key') return { auth: { key, location: { header: { name: 'x-api-key', prefix: '' } } } }
  return { auth: { key: type === 'basic' ? `Basic ${key}` : key } }
}

/** A rule that only names tools says nothing about prompts and resources. */
function rulesOf({ allowed_tools: allowed, disallowed_tools: disallowed }: Raw): Raw {
  const rules = [
    ...(isList(allowed) ? [{ deny: `!(mcp.tool.name in ${JSON.stringify(allowed)})` }] : []),
    ...(isList(disallowed) ? [{ deny: `mcp.tool.name in ${JSON.stringify(disallowed)}` }] : [])
  ]
  return rules.length === 0 ? {} : { mcpAuthorization: { rules } }
}

const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')
