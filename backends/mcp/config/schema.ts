/** The file's `mcp` backends (docs/specification.md#mcp-backends): schema. */

import { NEVER_FORWARDED } from '#backends/mcp/session/forwarded-headers.ts'
import type { Shortcut } from '#engine/contract/backend-config.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { fieldName } from '#engine/schema/http.ts'
import { entriesOf, type Raw } from '#engine/schema/placed.ts'
import { cel } from '#engine/schema/rule.ts'
import { keyMissing, list, longString, refused, refusedKeys, whole, z } from '#engine/schema/schema.ts'
import { filledIn, onlyInFiles, words } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'
import { mcpTarget } from './targets.ts'

/** docs/specification.md#mcp-backends. */
const TARGETS_MAX = 32
const HEADERS_MAX = 64
/** A secret that can be guessed seals nothing. */
const KEY_CHARS_MIN = 16
const KEY_CHARS_MAX = 1024
const MESSAGE_BYTES_MIN = 1024
const MESSAGE_BYTES_MAX = 256 * 1024 * 1024

const positive = () => positiveDuration('must be longer than nothing')

const key = () =>
  z
    .string({ error: keyMissing })
    .min(KEY_CHARS_MIN, `must have at least ${KEY_CHARS_MIN} characters`)
    .max(KEY_CHARS_MAX)

const session = () =>
  z.strictObject({
    key: onlyInFiles(
      z
        .union([key(), oneOf({ file: longString().optional(), ...refusedKeys('session key', ['secretRef']) })])
        .optional()
    ).describe('Secret of session ids: text or { file: PATH }. Default: made at the start, so that they end with it.'),
    idleTimeout: positive().optional().describe('A session that is not used for so long is over. Default 30m.'),
    anonymous: z
      .enum(['Handshake', 'PerRequest'])
      .optional()
      .describe(
        'Clients of 2026-07-28 without a login, before servers with sessions: they are offered older revisions, or each request gets a session of its own. Default Handshake.'
      )
  })

const DNS = 'whoever asks from another origin is refused in any case'

/** Settings of a backend, which `mcp` at the top of the file has too. */
export const mcpSettings = () => ({
  targets: list(mcpTarget(), 1, TARGETS_MAX).describe('MCP servers behind this one endpoint.'),
  sessionRouting: filledIn(z.enum(['Stateful', 'Stateless']), 'Stateful')
    .optional()
    .describe('Stateless: each request stands alone, and no session id is given out. Default Stateful.'),
  statefulMode: onlyInFiles(z.enum(['stateful', 'stateless', 'Stateful', 'Stateless']).optional()).describe(
    'Another name of sessionRouting.'
  ),
  prefixMode: z
    .enum(['conditional', 'always', 'never'])
    .optional()
    .describe('Whether names of tools and prompts begin with "TARGET_". Default conditional: with several targets.'),
  failureMode: words(['FailClosed', 'FailOpen'])
    .optional()
    .describe('What a target that fails does to lists: fail too, or be left out. Default failClosed.'),
  session: session().optional().describe('Of session ids.'),
  targetTimeout: positive()
    .optional()
    .describe('For the answer of one target to a list or an initialisation. Default 30s.'),
  forwardHeaders: list(
    fieldName().refine((name) => !NEVER_FORWARDED.has(name), {
      error: 'is never forwarded to MCP servers',
      params: cel(`!(self.lowerAscii() in [${[...NEVER_FORWARDED].map((name) => `'${name}'`).join(', ')}])`)
    }),
    0,
    HEADERS_MAX
  )
    .optional()
    .describe("The client's header fields that targets get besides trace context. Default none."),
  maxMessageSize: whole(MESSAGE_BYTES_MIN, MESSAGE_BYTES_MAX)
    .optional()
    .describe('Bytes of one message of a target. Default 8388608.'),
  mcpGuardrails: refused("mcp setting 'mcpGuardrails'"),
  dnsRebindingProtection: refused("mcp setting 'dnsRebindingProtection'", DNS)
})

const UNIQUE_NAMES = cel('self.targets.all(one, self.targets.exists_one(other, other.name == one.name))', {
  message: 'names of targets must be unique',
  field: 'targets'
})

/** What takes several fields to see. */
export const mcpChecks = () =>
  together<Raw>(
    [],
    ({ value, issues }) => {
      const report = (path: (string | number)[], message: string) => {
        issues.push({ code: 'custom', path, message, input: value })
      }
      if (value.sessionRouting !== undefined && value.statefulMode !== undefined) {
        report(['statefulMode'], 'says again what sessionRouting says: keep one of them')
      }
      const names = new Set<unknown>()
      for (const { raw, path } of entriesOf(value.targets, ['targets'])) {
        const { name } = raw
        if (names.has(name)) report([...(path as (string | number)[]), 'name'], `two targets are called ${name}`)
        if (typeof name === 'string') names.add(name)
      }
    },
    UNIQUE_NAMES
  )

export const mcpSchema = () => z.strictObject(mcpSettings()).check(mcpChecks())

/** `common`: what all shortcuts have. */
export const mcpShortcut = ({ port, ...common }: Parameters<Shortcut['schema']>[0]) =>
  z
    .strictObject({ port, ...mcpSettings(), ...common, ...refusedKeys('mcp setting', ['gateways', 'tls']) })
    .check(mcpChecks())

export type FileMcp = z.output<ReturnType<typeof mcpSchema>>
