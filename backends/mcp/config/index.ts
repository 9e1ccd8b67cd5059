/** Configuration of backends that are MCP servers. */
import { TARGET_KEYS } from '#backends/mcp/targets/index.ts'
import type { BackendConfig } from '#engine/contract/backend-config.ts'
import { activeCheckPolicies } from '#engine/contract/backend-transport/active-checks.ts'
import { proxyHeaderPolicies } from '#engine/contract/backend-transport/policies.ts'
import { entriesOf, objectOf, type Placed } from '#engine/schema/placed.ts'
import { deferred } from '#engine/schema/schema.ts'
import { checkTargetAuth, refusedByTargets, withoutServers } from './auth.ts'
import { checkFiles } from './check.ts'
import { locateInTarget } from './places.ts'
import { mcpPolicies } from './policies.ts'
import { type FileMcp, mcpSchema, mcpShortcut } from './schema.ts'
import { rulesAround, translateMcp } from './translate.ts'
import { uselessSessions } from './warnings.ts'

// One, so that the JSON Schema has it once.
const SCHEMA = deferred(() => mcpSchema().meta({ id: 'McpBackend' }))

const targetsOf = ({ raw, path }: Placed): Placed[] => entriesOf(raw.targets, [...path, 'targets'])

/** The values of keys that have policies too. */
const withPolicies = ({ raw, path }: Placed): Placed[] =>
  TARGET_KEYS.filter(({ name, hasPolicies }) => hasPolicies && raw[name] !== undefined).map(({ name }) => {
    return { raw: objectOf(raw[name]), path: [...path, name] }
  })

export const mcpConfig: BackendConfig = {
  keys: [{ name: 'mcp', schema: SCHEMA.optional().describe('MCP servers behind one endpoint.') }],
  policies: [mcpPolicies, activeCheckPolicies],
  advice: 'each of its targets has policies of its own',
  parts: {
    word: 'target',
    of: targetsOf,
    places: (value) => targetsOf(value).flatMap((target) => [target, ...withPolicies(target)]),
    policies: [mcpPolicies]
  },
  check(value, sources, report) {
    checkFiles(value, sources, report)
    checkTargetAuth(value, report)
  },
  unconnected: withoutServers,
  checkAuth: (auth, { value }) => refusedByTargets(auth, value),
  translate: (_key, file: FileMcp, context) => translateMcp(file, context),
  differs: (levels) => rulesAround(levels) !== null,
  warnings: [uselessSessions],
  locate: locateInTarget,
  shortcut: {
    key: 'mcp',
    port: 3000,
    description: 'MCP servers on a port of their own, in short.',
    schema: mcpShortcut,
    backend: 'mcp/targets',
    translate: translateMcp,
    policies: [mcpPolicies, activeCheckPolicies],
    refused: [{ policies: proxyHeaderPolicies }]
  }
}
